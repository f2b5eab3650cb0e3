"""Clients that nobody should notice: too many, too slow, deaf, or talking nonsense. Each goes on until stopped."""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Self

from barnabas.protocol.apis import APIS
from barnabas.protocol.frames import encode_request
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.schema import Message

__all__ = [
    "Attacker",
    "Bombers",
    "ByteByByte",
    "Comers",
    "Deaf",
    "LongPolls",
    "Mute",
    "Pipeliner",
    "SlowSenders",
    "Talkers",
]

Address = tuple[str, int]
MEBIBYTE = 1 << 20
PATIENCE_S = 20
TURN_S = 0.02
SMALL_BUFFER = 4096

TLS_CLIENT_HELLO = bytes.fromhex(
    "16030100750100007103039c0d4f2f1a6b3e8d7c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a3928170600000813021303130100ff"
    "010000400000000e000c0000096c6f63616c686f7374000a00040002001d0017000000160000000d00080006040305030603002b0003"
    "020304002d00020101"
)


def frame(request: Message, version: int, correlation_id: int = 7) -> bytes:
    api = APIS[request.__definition__.key]
    return b"".join(encode_request(api, version, correlation_id, "crowd", request))  # type: ignore[arg-type]


def fetch_frame(topic: str, *, max_bytes: int, max_wait_ms: int = 0, offset: int = 0) -> bytes:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    topics = [FetchTopic(topic=topic, partitions=[partition])]
    request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=max_bytes, topics=topics, session_epoch=-1)
    return frame(request, 12)


def connected(address: Address, receive_buffer: int = 0) -> socket.socket:
    sock = socket.socket()
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.settimeout(PATIENCE_S)
    sock.connect(address)
    return sock


class Attacker:
    """`begin` returns when it is there; `turn` is called again and again in a thread of its own."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.turns = 0
        self.failure: BaseException | None = None
        self._stack = ExitStack()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=type(self).__name__)

    def open(self, receive_buffer: int = 0) -> socket.socket:
        """A connection that stays until the end."""
        return self._stack.enter_context(connected(self.address, receive_buffer))

    def begin(self) -> None:
        pass

    def turn(self) -> None:
        pass

    def _run(self) -> None:
        try:
            while not self._stopping.wait(TURN_S):
                self.turn()
                self.turns += 1
        except BaseException as error:  # noqa: BLE001 - told to the test
            self.failure = error

    def __enter__(self) -> Self:
        self.begin()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._stack.close()
        if self.failure is not None and error is None:
            raise self.failure


class LongPolls(Attacker):
    """So many connections, each of which has asked who is there and waits for records of some topic."""

    def __init__(self, address: Address, count: int, topics: list[str]) -> None:
        super().__init__(address)
        self._count = count
        self._topics = topics

    def begin(self) -> None:
        hello = frame(ApiVersionsRequest(client_software_name="crowd", client_software_version="1"), 3)
        for number in range(self._count):
            sock = self.open()
            sock.sendall(hello)
            assert sock.recv(65_536), "closed instead of an answer to ApiVersions"
            sock.sendall(fetch_frame(self._topics[number % len(self._topics)], max_bytes=1000, max_wait_ms=600_000))


class Mute(Attacker):
    """They connect, and that is all."""

    def __init__(self, address: Address, count: int) -> None:
        super().__init__(address)
        self._count = count

    def begin(self) -> None:
        for _ in range(self._count):
            self.open()


class SlowSenders(Attacker):
    """Each says that a large request follows, and sends a byte of it now and then."""

    def __init__(self, address: Address, count: int) -> None:
        super().__init__(address)
        self._count = count

    def begin(self) -> None:
        self._sockets = [self.open() for _ in range(self._count)]
        for sock in self._sockets:
            sock.sendall(struct.pack(">ihhih", 100 * MEBIBYTE, 3, 1, 7, -1))

    def turn(self) -> None:
        self._sockets[self.turns % self._count].sendall(b"\0")


class ByteByByte(Attacker):
    """It asks for everything that a topic has, and reads the answer byte by byte."""

    def __init__(self, address: Address, topic: str) -> None:
        super().__init__(address)
        self._topic = topic

    def begin(self) -> None:
        self._socket = self.open(SMALL_BUFFER)
        self._socket.sendall(fetch_frame(self._topic, max_bytes=50 * MEBIBYTE))

    def turn(self) -> None:
        assert self._socket.recv(1), "closed, and it did read"


class Pipeliner(Attacker):
    """It sends so many requests with large answers, as fast as it may, and reads none of them."""

    def __init__(self, address: Address, count: int) -> None:
        super().__init__(address)
        self.left = count

    def begin(self) -> None:
        self._frame = frame(MetadataRequest(topics=None), 12)
        self._rest = b""
        self._socket = self.open(SMALL_BUFFER)
        self._socket.setblocking(False)

    def turn(self) -> None:
        with suppress(BlockingIOError, ConnectionError):
            while self.left:
                if not self._rest:
                    at_once = min(self.left, 1_000)
                    self._rest = self._frame * at_once
                    self.left -= at_once
                self._rest = self._rest[self._socket.send(self._rest) :]


class Deaf(Attacker):
    """Each asks for much, again and again, and never reads."""

    def __init__(self, address: Address, count: int, topic: str) -> None:
        super().__init__(address)
        self._count = count
        self._topic = topic

    def begin(self) -> None:
        asked = fetch_frame(self._topic, max_bytes=8 * MEBIBYTE)
        self._sockets = [self.open(SMALL_BUFFER) for _ in range(self._count)]
        for sock in self._sockets:
            sock.sendall(asked * 20)


class Comers(Attacker):
    """They connect and are gone at once: with a farewell, without one, or in the middle of a request."""

    def __init__(self, address: Address, at_once: int) -> None:
        super().__init__(address)
        self._at_once = at_once

    def turn(self) -> None:
        for number in range(self._at_once):
            sock = connected(self.address)
            if number % 3:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if number % 2:
                sock.sendall(frame(MetadataRequest(topics=None), 12)[: number + 3])
            sock.close()


class Talkers(Attacker):
    """They say what is no request, and have to be shown out for it."""

    def __init__(self, address: Address, seed: int) -> None:
        super().__init__(address)
        self._chance = random.Random(seed)
        self._said = self._all()

    def turn(self) -> None:
        what, data = next(self._said)
        with connected(self.address) as sock:
            with suppress(ConnectionError):
                sock.sendall(data)
            assert is_shown_out(sock), f"it still listens to {what}"

    def _all(self) -> Iterator[tuple[str, bytes]]:
        while True:
            yield "a prefix of 2 GB", struct.pack(">i", 2**31 - 1) + b"x" * 1000
            yield "a negative prefix", struct.pack(">i", -1)
            yield "HTTP", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
            yield "TLS", TLS_CLIENT_HELLO
            yield "noise", b"\x7f" + self._chance.randbytes(self._chance.randint(4, 5_000))
            for lie in LIES:
                yield lie.__name__, framed(lie(self._chance))


class Bombers(Attacker):
    """Some kilobytes, sent again and again, that unpack to a million records which have to be looked at one by one."""

    def __init__(self, address: Address, topic: str, batch: bytes) -> None:
        super().__init__(address)
        data = TopicProduceData(topic, partition_data=[PartitionProduceData(index=0, records=batch)])
        self._frame = frame(ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[data]), 12)

    def begin(self) -> None:
        self._sockets = [self.open() for _ in range(3)]

    def turn(self) -> None:
        sock = self._sockets[self.turns % 3]
        sock.setblocking(False)
        with suppress(BlockingIOError):
            sock.send(self._frame)
        with suppress(BlockingIOError):
            assert sock.recv(MEBIBYTE), "closed, and it may ask what it likes"


def is_shown_out(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


# Frames that are whole, and whose inside claims what is not there


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def header(api: int, version: int, *, flexible: bool) -> bytes:
    return struct.pack(">hhih", api, version, 7, 5) + b"crowd" + (b"\0" if flexible else b"")


def an_array_of_two_billion_topics(_chance: random.Random) -> bytes:
    return header(3, 1, flexible=False) + struct.pack(">i", 2**31 - 1)


def a_compact_array_of_four_billion_topics(_chance: random.Random) -> bytes:
    return header(3, 12, flexible=True) + b"\xff\xff\xff\xff\x0f"


def a_name_of_two_billion_bytes(_chance: random.Random) -> bytes:
    return header(3, 12, flexible=True) + b"\x02" + bytes(16) + b"\xff\xff\xff\xff\x07" + b"name"


def a_client_id_beyond_the_frame(_chance: random.Random) -> bytes:
    return struct.pack(">hhih", 3, 1, 7, 32_767) + b"x"


def records_beyond_the_frame(_chance: random.Random) -> bytes:
    topic = struct.pack(">ih", 1, 1) + b"t" + struct.pack(">iii", 1, 0, 2**31 - 1)
    return header(0, 3, flexible=False) + struct.pack(">hhi", -1, -1, 1000) + topic


def tags_without_an_end(_chance: random.Random) -> bytes:
    return struct.pack(">hhih", 3, 12, 7, 5) + b"crowd" + b"\xff\xff\xff\xff\x0f"


def noise_for_an_api(chance: random.Random) -> bytes:
    return header(1, 12, flexible=True) + b"\xff" * 12 + chance.randbytes(chance.randint(10, 300))


LIES: tuple[Callable[[random.Random], bytes], ...] = (
    an_array_of_two_billion_topics,
    a_compact_array_of_four_billion_topics,
    a_name_of_two_billion_bytes,
    a_client_id_beyond_the_frame,
    records_beyond_the_frame,
    tags_without_an_end,
    noise_for_an_api,
)
