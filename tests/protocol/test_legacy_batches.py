"""Message sets of magic 0 and 1, from a writer made here: Barnabas itself has none."""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.batches import TimestampType, batch_at, iterate_batches
from barnabas.protocol.compression import Compression, compress
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.legacy_batches import LegacyBatch
from barnabas.protocol.record import Record, read_records

CODECS = [Compression.GZIP, Compression.SNAPPY, Compression.LZ4]
APPENDED = 0x08

# The same two records, written by Apache Kafka 4.3.1. The lz4 of magic 0 has a wrong checksum in its header, 0x1a.
GOLDEN = {
    (0, Compression.NONE): (
        "00000000000000050000002d127ca5fb0000000000016b0000001e76767676767676767676767676767676767676"
        "767676767676767676767600000000000000060000002c5d91a8de0000ffffffff0000001e767676767676767676"
        "767676767676767676767676767676767676767676"
    ),
    (0, Compression.GZIP): (
        "000000000000000600000048eeaa83110001ffffffff0000003a1f8b08000000000000ff636000035620d615aa59"
        "fa1bcc63cc061272657801441f031b10ebc44e5c718f81e13f1010d60700e11cae9571000000"
    ),
    (0, Compression.SNAPPY): (
        "00000000000000060000005684e46c180002ffffffff0000004882534e4150505900000000010000000100000034"
        "710000090120050000002d127ca5fb050f18016b0000001e767201000529440000060000002c5d91a8de0000ffff"
        "ffff00823800"
    ),
    (0, Compression.LZ4): (
        "000000000000000600000057371bed880003ffffffff0000004904224d1860401a3a000000120001009105000000"
        "2d127ca5fb0f007f016b0000001e7601000a012900ff020000060000002c5d91a8de0000ffffffff38000a507676"
        "76767600000000"
    ),
    (1, Compression.NONE): (
        "00000000000000050000003565da271a01000000018bcfe56800000000016b0000001e7676767676767676767676"
        "7676767676767676767676767676767676767600000000000000060000003453fffc9301000000018bcfe56805ff"
        "ffffff0000001e767676767676767676767676767676767676767676767676767676767676"
    ),
    (1, Compression.GZIP): (
        "000000000000000600000055c9e40f3101010000018bcfe56805ffffffff0000003f1f8b08000000000000ff6360"
        "8003d3d45bea528c400663f7f9a7192011c66c2021578617403583f49904ffff33196e00eb7f2020ac1f000a2107"
        "f481000000"
    ),
    (1, Compression.SNAPPY): (
        "00000000000000060000006640969f4001020000018bcfe56805ffffffff0000005082534e415050590000000001"
        "000000010000003c810100001901343565da271a01000000018bcfe568011818016b0000001e7672010001280134"
        "1c0000003453fffc93010905411005ffffffff864000"
    ),
    (1, Compression.LZ4): (
        "000000000000000600000065ffcafdbd01030000018bcfe56805ffffffff0000004f04224d186040824000000016"
        "000100e03565da271a01000000018bcfe56818007f016b0000001e7601000a002800003400850000003453fffc93"
        "41005f05ffffffff40000a50767676767600000000"
    ),
}


def message(
    offset: int, key: bytes | None, value: bytes | None, *, magic: int = 1, timestamp: int = 7, attributes: int = 0
) -> bytes:
    fields = bytes([magic, attributes]) + (struct.pack(">q", timestamp) if magic == 1 else b"")
    for field in (key, value):
        fields += struct.pack(">i", -1) if field is None else struct.pack(">i", len(field)) + field
    body = struct.pack(">I", zlib.crc32(fields)) + fields
    return struct.pack(">qi", offset, len(body)) + body


def wrapper(
    offset: int, inner: bytes, codec: Compression = Compression.GZIP, *, magic: int = 1, attributes: int = 0
) -> bytes:
    packed = compress(codec, inner)
    if codec is Compression.LZ4 and magic == 0:
        packed = packed[:6] + bytes([packed[6] ^ 0xA5]) + packed[7:]
    return message(offset, None, packed, magic=magic, timestamp=1000, attributes=attributes | codec)


def records_of(data: bytes) -> list[Record]:
    records: list[Record] = []
    for batch in iterate_batches(data):
        batch.check()
        records += read_records(batch, 1 << 16)
    return records


@pytest.mark.parametrize(("magic", "codec"), GOLDEN)
def test_message_sets_of_kafkas(magic: int, codec: Compression) -> None:
    first, second = (1_700_000_000_000, 1_700_000_000_005) if magic == 1 else (-1, -1)
    assert records_of(bytes.fromhex(GOLDEN[magic, codec])) == [
        Record(b"k", b"v" * 30, (), first, 5),
        Record(None, b"v" * 30, (), second, 6),
    ]


@pytest.mark.parametrize("magic", [0, 1])
def test_messages(magic: int) -> None:
    data = message(5, b"k", b"v", magic=magic) + message(9, None, None, magic=magic)
    timestamp = 7 if magic == 1 else -1
    assert records_of(data) == [Record(b"k", b"v", (), timestamp, 5), Record(None, None, (), timestamp, 9)]
    batch = batch_at(data)
    assert isinstance(batch, LegacyBatch)
    assert (batch.magic, batch.base_offset, batch.last_offset, batch.next_offset) == (magic, 5, 5, 6)
    assert (batch.max_timestamp, batch.record_count, batch.compression) == (timestamp, 1, Compression.NONE)
    kind = TimestampType.CREATE_TIME if magic == 1 else TimestampType.NO_TIMESTAMP_TYPE
    assert (batch.timestamp_type, batch.transactional, batch.control) == (kind, False, False)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.last_sequence) == (-1, -1, -1, -1)
    assert (batch.partition_leader_epoch, batch.delete_horizon_ms) == (-1, None)


def test_attributes_of_younger_batches_mean_nothing_here() -> None:
    batch = batch_at(message(5, b"k", b"v", attributes=0x70))
    assert batch is not None
    assert (batch.transactional, batch.control, batch.delete_horizon_ms) == (False, False, None)


@pytest.mark.parametrize("codec", CODECS)
def test_offsets_in_a_wrapper(codec: Compression) -> None:
    relative = message(0, b"a", b"1") + message(2, b"b", b"2")  # compaction removed the one between
    assert [record.offset for record in records_of(wrapper(12, relative, codec))] == [10, 12]
    absolute = message(10, b"a", b"1", magic=0) + message(12, b"b", b"2", magic=0)
    assert [record.offset for record in records_of(wrapper(12, absolute, codec, magic=0))] == [10, 12]


def test_a_wrapper_of_old_librdkafka_has_offset_0() -> None:
    assert [r.offset for r in records_of(wrapper(0, message(0, b"a", b"1") + message(1, b"b", b"2")))] == [0, 1]


def test_timestamps_in_a_wrapper() -> None:
    inner = message(0, b"a", b"1", timestamp=5) + message(1, b"b", b"2", magic=0)
    assert [record.timestamp for record in records_of(wrapper(1, inner))] == [5, -1]
    assert [record.timestamp for record in records_of(wrapper(1, inner, attributes=APPENDED))] == [1000, -1]


def test_a_wrapper_as_a_batch() -> None:
    batch = batch_at(wrapper(12, message(0, b"a", b"1"), attributes=APPENDED))
    assert batch is not None
    assert (batch.last_offset, batch.record_count, batch.compression) == (12, -1, Compression.GZIP)
    assert (batch.max_timestamp, batch.timestamp_type) == (1000, TimestampType.LOG_APPEND_TIME)


def test_a_torn_last_message_in_a_wrapper_is_passed_over() -> None:
    inner = message(0, b"a", b"1")
    for kept in range(1, len(inner)):
        assert len(records_of(wrapper(0, inner + inner[:kept]))) == 1


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (wrapper(3, b""), "no message"),
        (wrapper(3, message(0, b"a", b"1")[:-1]), "no message"),
        (wrapper(3, message(9, b"a", b"1")), "its last message 9"),
        (wrapper(3, wrapper(0, message(0, b"a", b"1"))), "in a wrapper"),
        (wrapper(3, bytes(12)), "length 0"),
        (wrapper(3, message(0, b"a", b"1")[:-1] + b"?"), "wrong crc"),
        (wrapper(3, message(0, b"a", b"1", magic=3)), "magic 3"),
        (message(3, None, None, attributes=Compression.GZIP), "no value"),
        (message(3, None, b"x", attributes=Compression.ZSTD), "zstd"),
        (message(3, None, b"x", attributes=5), "compression 5"),
        (message(3, None, b"x", attributes=Compression.GZIP), "gzip"),
        (wrapper(3, message(0, None, bytes(1 << 16))), "exceed"),
    ],
)
def test_wrappers_that_are_none(data: bytes, why: str) -> None:
    with pytest.raises(MalformedFrame, match=why):
        records_of(data)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (b"\x00\x00" + struct.pack(">ii", 5, -1), "fields of|ends early"),
        (b"\x00\x00" + struct.pack(">ii", -1, 1), "fields of"),
        (b"\x00\x00" + struct.pack(">iii", -1, -1, 0), "fields of"),
        (b"\x01\x00" + struct.pack(">qii", 7, 2**31 - 1, -1), "ends early|fields of"),
    ],
)
def test_sizes_that_lie(fields: bytes, why: str) -> None:
    body = struct.pack(">I", zlib.crc32(fields)) + fields
    with pytest.raises(MalformedFrame, match=why):
        records_of(struct.pack(">qi", 0, len(body)) + body)


def test_a_message_of_magic_1_without_room_for_its_timestamp() -> None:
    data = bytearray(message(0, None, None, magic=0))
    data[16] = 1
    with pytest.raises(MalformedFrame, match="length 14"):
        batch_at(data)


def test_a_header_that_is_none() -> None:
    data = message(0, b"key", b"value")
    for end in range(26):
        with pytest.raises(MalformedFrame, match="ends early"):
            LegacyBatch(data[:end])
    with pytest.raises(MalformedFrame, match="magic 2"):
        LegacyBatch(data[:16] + b"\x02" + data[17:])


def test_a_wrong_checksum() -> None:
    data = bytearray(message(0, b"key", b"value"))
    data[-1] ^= 1
    batch = batch_at(data)
    assert batch is not None
    assert not batch.crc_matches()
    with pytest.raises(MalformedFrame, match="crc"):
        batch.check()


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Compression.NONE, *CODECS])
def test_every_prefix_and_every_flipped_byte(magic: int, codec: Compression) -> None:
    inner = message(0, b"a", b"1", magic=magic) + message(1, None, b"some value", magic=magic)
    data = inner if codec is Compression.NONE else wrapper(1, inner, codec, magic=magic)
    whole = batch_at(data)
    assert isinstance(whole, LegacyBatch)
    for end in range(whole.size):
        assert batch_at(data[:end]) is None
    for position in range(len(data)):
        for flip in (1, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= flip
            with suppress(MalformedFrame):
                for batch in iterate_batches(damaged):
                    list(read_records(batch, 1 << 16))


@given(st.binary(max_size=120), st.integers(0, 1))
def test_any_bytes(rest: bytes, magic: int) -> None:
    data = struct.pack(">qiIb", 0, len(rest) + 5, 0, magic) + rest
    with suppress(MalformedFrame):
        for batch in iterate_batches(data):
            list(read_records(batch, 1 << 16))
