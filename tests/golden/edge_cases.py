"""Frames that no good client sends, and what a node answers: sent through a raw socket, one connection each."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tests.golden.proxy import read_exactly

SILENCE_S = 2.0
# The connection's state afterwards is asked by this: ApiVersions v0 with a correlation id of its own.
PROBE_ID = 0x7FFF
PROBE = struct.pack(">ihhih", 10, 18, 0, PROBE_ID, -1)


@dataclass(frozen=True)
class EdgeCase:
    name: str
    sent: bytes
    """Everything that is written to the socket, the size in front included."""
    listener: str = "broker"


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def header(api_key: int, version: int, client_id: bytes | None = b"edge", *, tags: bytes = b"") -> bytes:
    """Request header v1, or v2 where tags are given (b"\\0" for none); the correlation id is always 7."""
    fixed = struct.pack(">hhi", api_key, version, 7)
    if client_id is None:
        return fixed + b"\xff\xff" + tags
    return fixed + struct.pack(">h", len(client_id)) + client_id + tags


def string(text: bytes) -> bytes:
    return struct.pack(">h", len(text)) + text


def compact(text: bytes) -> bytes:
    return bytes([len(text) + 1]) + text


def edge_cases() -> Iterator[EdgeCase]:
    yield from api_versions_cases()
    yield from version_cases()
    yield from produce_cases()
    yield from size_cases()
    yield from body_cases()
    yield from tag_cases()
    yield from scope_cases()
    yield from sasl_cases()


SOFTWARE = compact(b"edge") + compact(b"1.0")


def api_versions_cases() -> Iterator[EdgeCase]:
    good = header(18, 4, tags=b"\0") + SOFTWARE + b"\0"
    yield EdgeCase("ApiVersions v4", framed(good))
    yield EdgeCase("ApiVersions v4", framed(good), "controller")
    yield EdgeCase("ApiVersions v3", framed(header(18, 3, tags=b"\0") + SOFTWARE + b"\0"))
    yield EdgeCase("ApiVersions v0", framed(header(18, 0)))
    for listener in ("broker", "controller"):
        body = header(18, 99, tags=b"\0") + SOFTWARE + b"\0"
        yield EdgeCase("ApiVersions v99, body as v4", framed(body), listener)
    yield EdgeCase("ApiVersions v5, body as v4", framed(header(18, 5, tags=b"\0") + SOFTWARE + b"\0"))
    yield EdgeCase("ApiVersions v99, no body", framed(header(18, 99, tags=b"\0")))
    yield EdgeCase("ApiVersions v-1", framed(header(18, -1)))
    yield EdgeCase("ApiVersions v3, empty software name", framed(header(18, 3, tags=b"\0") + b"\x01\x01\0"))
    bad_name = compact(b"-bad name-") + compact(b"1.0")
    yield EdgeCase(
        "ApiVersions v3, software name against the pattern", framed(header(18, 3, tags=b"\0") + bad_name + b"\0")
    )
    yield EdgeCase("ApiVersions v3, null software name", framed(header(18, 3, tags=b"\0") + b"\0\0\0"))
    # KIP-511 lets the header of ApiVersions be read before the version is known; this one has header v1.
    yield EdgeCase("ApiVersions v3 behind a header v1", framed(header(18, 3) + SOFTWARE + b"\0"))


def version_cases() -> Iterator[EdgeCase]:
    # acks 1, timeout 1 s, no topics; v0 to v2 share it.
    produce = struct.pack(">hii", 1, 1000, 0)
    for version in (0, 1, 2):
        yield EdgeCase(f"Produce v{version}, no topics", framed(header(0, version) + produce))
    yield EdgeCase("Produce v3, no topics", framed(header(0, 3) + b"\xff\xff" + produce))
    yield EdgeCase(
        "Produce v3, no topics, acks 0", framed(header(0, 3) + b"\xff\xff" + struct.pack(">hii", 0, 1000, 0))
    )
    yield EdgeCase(
        "Produce v3, no topics, acks 2", framed(header(0, 3) + b"\xff\xff" + struct.pack(">hii", 2, 1000, 0))
    )
    yield EdgeCase("Produce v99", framed(header(0, 99, tags=b"\0")))
    yield EdgeCase("unknown API key 200", framed(header(200, 0)))
    yield EdgeCase("unknown API key -1", framed(header(-1, 0)))
    yield EdgeCase("Metadata v99", framed(header(3, 99, tags=b"\0") + b"\x01\0\0\0"))
    yield EdgeCase("Metadata v-1", framed(header(3, -1)))
    yield EdgeCase("Fetch v3, gone since 4.0", framed(header(1, 3)))
    yield EdgeCase("LeaderAndIsr v0, gone since 4.0", framed(header(4, 0)))


def batch(*, magic: int = 2) -> bytes:
    """One record batch with one record (a null key, the value x) and a CRC that is wrong."""
    record = bytes([14, 0, 0, 0, 1, 2]) + b"x" + b"\0"
    head = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1)
    behind_length = struct.pack(">ibI", 0, magic, 0) + head + record
    return struct.pack(">qi", 0, len(behind_length)) + behind_length


def produce_v3(acks: int, topic: bytes, records: bytes | None) -> bytes:
    """A request with these records for partition 0 of one topic."""
    sized = struct.pack(">i", -1) if records is None else struct.pack(">i", len(records)) + records
    topics = struct.pack(">i", 1) + string(topic) + struct.pack(">ii", 1, 0) + sized
    return framed(header(0, 3) + b"\xff\xff" + struct.pack(">hi", acks, 1000) + topics)


def produce_cases() -> Iterator[EdgeCase]:
    """Topic castle is there, with one partition."""
    # Kafka 4.3.1 has a fault here: a NullPointerException while it logs another; the connection never answers again.
    yield EdgeCase("Produce v3, null records, acks 1", produce_v3(1, b"castle", None))
    for acks in (-1, 0, 1, 2):
        yield EdgeCase(f"Produce v3, empty records, acks {acks}", produce_v3(acks, b"castle", b""))
    for acks in (0, 1, 2):
        yield EdgeCase(f"Produce v3, wrong CRC, acks {acks}", produce_v3(acks, b"castle", batch()))
    for magic in (0, 1, 3):
        yield EdgeCase(f"Produce v3, magic {magic}, acks 1", produce_v3(1, b"castle", batch(magic=magic)))
    yield EdgeCase("Produce v3, two batches, wrong CRC, acks 1", produce_v3(1, b"castle", batch() * 2))
    yield EdgeCase("Produce v3, batch cut short, acks 1", produce_v3(1, b"castle", batch()[:-1]))
    yield EdgeCase("Produce v3, 5 bytes of records, acks 1", produce_v3(1, b"castle", b"12345"))
    yield EdgeCase("Produce v3, no such topic, acks 1", produce_v3(1, b"no-such-topic", batch()))
    yield EdgeCase("Produce v3, no such topic, acks 0", produce_v3(0, b"no-such-topic", batch()))


def size_cases() -> Iterator[EdgeCase]:
    yield EdgeCase("size -1", struct.pack(">i", -1))
    yield EdgeCase("size -2147483648", struct.pack(">i", -(2**31)))
    yield EdgeCase("size 0", struct.pack(">i", 0))
    yield EdgeCase("size 0, then a good request", struct.pack(">i", 0) + PROBE)
    yield EdgeCase("size 4, an API key and a version only", framed(struct.pack(">hh", 18, 0)))
    yield EdgeCase("size 8, no client id", framed(struct.pack(">hhi", 18, 0, 7)))
    yield EdgeCase("size socket.request.max.bytes, nothing behind", struct.pack(">i", 104857600))
    yield EdgeCase("size socket.request.max.bytes + 1", struct.pack(">i", 104857601))
    yield EdgeCase("size 2147483647", struct.pack(">i", 2**31 - 1))
    yield EdgeCase("size 100, 10 bytes behind", struct.pack(">i", 100) + PROBE[4:])
    yield EdgeCase("HTTP", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    yield EdgeCase(
        "TLS client hello", bytes.fromhex("160301002e0100002a0303") + bytes(32) + bytes.fromhex("000002c02f0100")
    )


def body_cases() -> Iterator[EdgeCase]:
    yield EdgeCase("ApiVersions v0, 3 bytes behind the body", framed(header(18, 0) + b"\1\2\3"))
    yield EdgeCase(
        "ApiVersions v4, 3 bytes behind the body", framed(header(18, 4, tags=b"\0") + SOFTWARE + b"\0\1\2\3")
    )
    none = struct.pack(">i", 0) + b"\0"
    yield EdgeCase("Metadata v4, no topics", framed(header(3, 4) + none))
    yield EdgeCase("Metadata v4, 3 bytes behind the body", framed(header(3, 4) + none + b"\1\2\3"))
    yield EdgeCase("ListGroups v0, 1 byte behind the body", framed(header(16, 0) + b"\1"))
    yield EdgeCase("Metadata v4, last byte missing", framed(header(3, 4) + none[:-1]))
    yield EdgeCase("Metadata v4, no body", framed(header(3, 4)))
    yield EdgeCase("Metadata v4, 2147483647 topics", framed(header(3, 4) + struct.pack(">i", 2**31 - 1) + b"\0"))
    yield EdgeCase("Metadata v4, -2 topics", framed(header(3, 4) + struct.pack(">i", -2) + b"\0"))
    yield EdgeCase(
        "Metadata v4, topic name longer than the frame", framed(header(3, 4) + struct.pack(">ih", 1, 99) + b"a\0")
    )
    yield EdgeCase("Metadata v4, topic name null", framed(header(3, 4) + struct.pack(">ih", 1, -1) + b"\0"))
    yield EdgeCase(
        "Metadata v4, topic name not UTF-8", framed(header(3, 4) + struct.pack(">i", 1) + string(b"a\xff\xfe") + b"\0")
    )
    yield EdgeCase("Metadata v4, boolean of 2", framed(header(3, 4) + struct.pack(">i", 0) + b"\2"))
    yield EdgeCase("ApiVersions v0, client id null", framed(header(18, 0, None)))
    yield EdgeCase("ApiVersions v0, client id not UTF-8", framed(header(18, 0, b"a\xff\xfe")))
    yield EdgeCase("Metadata v4, client id not UTF-8", framed(header(3, 4, b"a\xff\xfe") + none))
    yield EdgeCase(
        "ApiVersions v0, client id longer than the frame", framed(struct.pack(">hhih", 18, 0, 7, 99) + b"edge")
    )
    yield EdgeCase("ApiVersions v0, client id length -2", framed(struct.pack(">hhih", 18, 0, 7, -2)))
    yield EdgeCase("two requests in one write", PROBE + framed(header(18, 0)))
    yield EdgeCase("a request, then a broken one, in one write", PROBE + framed(header(200, 0)))


def tag_cases() -> Iterator[EdgeCase]:
    """Metadata v12 has flexible fields; its body here: an empty array of topics, two booleans, tags."""
    body = b"\x01\x00\x00"
    metadata = header(3, 12, tags=b"\0") + body
    yield EdgeCase("Metadata v12, no topics", framed(metadata + b"\0"))
    yield EdgeCase("unknown tag 5, right size", framed(metadata + b"\x01\x05\x02ab"))
    yield EdgeCase("unknown tag 5, size beyond the frame", framed(metadata + b"\x01\x05\x7fab"))
    yield EdgeCase("unknown tag 5, size too small by one", framed(metadata + b"\x01\x05\x01ab"))
    yield EdgeCase("unknown tags 6 then 5 (falling)", framed(metadata + b"\x02\x06\x01a\x05\x01b"))
    yield EdgeCase("unknown tag 5 twice", framed(metadata + b"\x02\x05\x01a\x05\x01b"))
    yield EdgeCase("two tags announced, none there", framed(metadata + b"\x02"))
    yield EdgeCase("tag count as a varint of six bytes", framed(metadata + b"\xff\xff\xff\xff\xff\x01"))
    yield EdgeCase("tag count zero in two bytes", framed(metadata + b"\x80\x00"))
    yield EdgeCase("header tag 9, right size", framed(header(3, 12, tags=b"\x01\x09\x02ab") + body + b"\0"))
    yield EdgeCase("header tag 9, size beyond the frame", framed(header(3, 12, tags=b"\x01\x09\x7fab") + body + b"\0"))
    # Fetch v12 knows tag 0, clusterId: a compact nullable string. Body: replica, max wait, min and max bytes,
    # isolation, session id and epoch, no topics, none forgotten, an empty rack, tags.
    fetch = header(1, 12, tags=b"\0") + struct.pack(">iiiibii", -1, 0, 0, 1, 0, 0, -1) + b"\x01\x01\x01"
    yield EdgeCase("Fetch v12, known tag 0 of the right size", framed(fetch + b"\x01\x00\x04\x04abc"))
    yield EdgeCase("Fetch v12, known tag 0 with a size too small", framed(fetch + b"\x01\x00\x02\x04abc"))
    yield EdgeCase("Fetch v12, known tag 0 with a size too big", framed(fetch + b"\x01\x00\x06\x04abcde"))
    yield EdgeCase("Fetch v12, known tag 0 with a size beyond the frame", framed(fetch + b"\x01\x00\x7f\x04abc"))
    yield EdgeCase("Fetch v12, known tag 0 twice", framed(fetch + b"\x02\x00\x04\x04abc\x00\x04\x04abc"))


def scope_cases() -> Iterator[EdgeCase]:
    """Requests for the other listener: BrokerHeartbeat and Vote are the controller's, Metadata is the broker's."""
    heartbeat = header(63, 0, tags=b"\0") + struct.pack(">iqq??", 1, 0, 0, False, False) + b"\0"
    yield EdgeCase("BrokerHeartbeat v0 on the broker's listener", framed(heartbeat))
    yield EdgeCase("Vote v0 on the broker's listener", framed(header(52, 0, tags=b"\0") + b"\0\x01\0"))
    yield EdgeCase(
        "Metadata v4 on the controller's listener", framed(header(3, 4) + struct.pack(">i", 0) + b"\0"), "controller"
    )
    produce = header(0, 3) + b"\xff\xff" + struct.pack(">hii", 1, 1000, 0)
    yield EdgeCase("Produce v3 on the controller's listener", framed(produce), "controller")
    yield EdgeCase("unknown API key 200", framed(header(200, 0)), "controller")
    # On a listener without SASL.
    yield EdgeCase("SaslHandshake v1 on a PLAINTEXT listener", framed(header(17, 1) + string(b"PLAIN")))
    yield EdgeCase("SaslAuthenticate v0 on a PLAINTEXT listener", framed(header(36, 0) + struct.pack(">i", 0)))


def sasl_cases() -> Iterator[EdgeCase]:
    """On a listener that wants SASL first; user barnabas has the password messenger."""
    api_versions = framed(header(18, 0))
    metadata = framed(header(3, 4) + struct.pack(">i", 0) + b"\0")
    plain = framed(header(17, 1) + string(b"PLAIN"))
    yield EdgeCase("Metadata v4 before authentication", metadata, "sasl")
    yield EdgeCase("ApiVersions v0 twice before authentication", api_versions * 2, "sasl")
    yield EdgeCase("SaslHandshake v1, unknown mechanism", framed(header(17, 1) + string(b"CASTLE")), "sasl")
    yield EdgeCase("SaslAuthenticate v0 before SaslHandshake", framed(header(36, 0) + struct.pack(">i", 0)), "sasl")
    for name, token in (("right", b"\0barnabas\0messenger"), ("wrong", b"\0barnabas\0surveyor")):
        authenticate = framed(header(36, 0) + struct.pack(">i", len(token)) + token)
        yield EdgeCase(f"PLAIN, {name} password, then Metadata v4", plain + authenticate + metadata, "sasl")
        # After SaslHandshake v0 the token travels in a frame without any header.
        old = framed(header(17, 0) + string(b"PLAIN")) + framed(token)
        yield EdgeCase(f"PLAIN behind SaslHandshake v0, {name} password, then Metadata v4", old + metadata, "sasl")
    yield EdgeCase("Metadata v4 behind SaslHandshake v1", plain + metadata, "sasl")
    again = framed(header(36, 0) + struct.pack(">i", 0))
    good = framed(header(36, 0) + struct.pack(">i", 19) + b"\0barnabas\0messenger")
    yield EdgeCase("SaslAuthenticate v0 again after success", plain + good + again, "sasl")
    yield EdgeCase("size 524289 before authentication", struct.pack(">i", 524289), "sasl")


@dataclass(frozen=True)
class Outcome:
    outcome: str
    """One of answered, closed (an orderly end), reset, silent (nothing within SILENCE_S)."""
    received: bytes
    """What came back before the connection's end or the silence, the size in front included."""
    afterwards: str
    """open when the same connection answers an ApiVersions request then; else closed or silent."""


def play(case: EdgeCase, port: int) -> Outcome:
    with socket.create_connection(("127.0.0.1", port), timeout=SILENCE_S) as connection:
        connection.sendall(case.sent)
        received = b""
        # Each answer in turn, until one is missing.
        outcome, frame = read_answer(connection)
        while outcome == "answered":
            received += frame
            outcome, frame = read_answer(connection, 0.5)
        if received:
            ended = "silent" if outcome == "silent" else "closed"
            return Outcome("answered", received, probe(connection) if ended == "silent" else "closed")
        return Outcome(outcome, received, probe(connection) if outcome == "silent" else "closed")


def probe(connection: socket.socket) -> str:
    try:
        connection.sendall(PROBE)
    except OSError:
        return "closed"
    outcome, _ = read_answer(connection)
    return {"answered": "open", "silent": "silent"}.get(outcome, "closed")


def read_answer(connection: socket.socket, patience_s: float = SILENCE_S) -> tuple[str, bytes]:
    connection.settimeout(patience_s)
    try:
        size = read_exactly(connection, 4)
        if len(size) < 4:
            return "closed", b""
        (length,) = struct.unpack(">i", size)
        return "answered", size + read_exactly(connection, length)
    except TimeoutError:
        return "silent", b""
    except ConnectionResetError:
        return "reset", b""
