"""Records: what is written is read, and hostile bytes read or raise MalformedFrame, whatever packs them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.batch_builder import build_batch, build_empty_batch
from barnabas.protocol.batches import HEADER_BYTES, Batch, TimestampType, batch_at, iterate_batches
from barnabas.protocol.compression import Compression, compress
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import Record, read_records
from barnabas.protocol.varint import varint

RECORDS = [
    Record(b"key", b"value" * 10, (), 1_700_000_000_000, 3),
    Record(None, None, [("a", b"1"), ("a", None), ("", b"")], 1_700_000_000_900, 4),
    Record(b"", b"", (), -1, 9),
]
CODECS = list(Compression)
MAX_BYTES = 1 << 16

# The same two records, written by Apache Kafka 4.3.1.
GOLDEN = {
    Compression.NONE: (
        "00000000000000050000007cffffffff02680021b70000000000010000018bcfe568000000018bcfe56805ffffff"
        "ffffffffffffffffffffff000000024a000000026b3c767676767676767676767676767676767676767676767676"
        "7676767676760048000a02013c76767676767676767676767676767676767676767676767676767676767600"
    ),
    Compression.GZIP: (
        "000000000000000500000057ffffffff022ecb07930001000000010000018bcfe568000000018bcfe56805ffffff"
        "ffffffffffffffffffffff000000021f8b08000000000000fff362606060cab629c30b183c18b89818092902006b"
        "b80e1b4b000000"
    ),
    Compression.SNAPPY: (
        "00000000000000050000005cffffffff0260d9cb9c0002000000010000018bcfe568000000018bcfe56805ffffff"
        "ffffffffffffffffffffff0000000282534e41505059000000000100000001000000174b1c4a000000026b3c7672"
        "0100140048000a02017e2500"
    ),
    Compression.LZ4: (
        "00000000000000050000005cffffffff021e8fb4820003000000010000018bcfe568000000018bcfe56805ffffff"
        "ffffffffffffffffffffff0000000204224d186040821c0000008f4a000000026b3c7601000a6f0048000a020125"
        "000850767676760000000000"
    ),
    Compression.ZSTD: (
        "000000000000000500000053ffffffff0290ad0d2c0004000000010000018bcfe568000000018bcfe56805ffffff"
        "ffffffffffffffffffffff0000000228b52ffd0058b40000704a000000026b3c760048000a0201020048e1e5065c"
        "010000"
    ),
}


def one_record(body: bytes, count: int = 1, **fields: Any) -> Batch:
    """A batch around the bytes of hand-written records."""
    data = bytearray(build_batch([Record()], **fields)[:HEADER_BYTES] + body)
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    data[57:61] = count.to_bytes(4, "big", signed=True)
    return Batch(bytes(data))


def body(*, timestamp: int = 0, offset: int = 0, rest: bytes = b"\x01\x01\x00") -> bytes:
    inner = b"\x00" + varint(timestamp) + varint(offset) + rest
    return varint(len(inner)) + inner


def refused(batch: Batch, why: str | None) -> None:
    with pytest.raises(MalformedFrame, match=why):
        list(read_records(batch))


@pytest.mark.parametrize("compression", CODECS)
def test_batches_of_kafkas(compression: Compression) -> None:
    batch = Batch(bytes.fromhex(GOLDEN[compression]))
    batch.check()
    assert batch.compression is compression
    records = list(read_records(batch))
    assert records == [
        Record(b"k", b"v" * 30, (), 1_700_000_000_000, 5),
        Record(None, b"v" * 30, (), 1_700_000_000_005, 6),
    ]
    if compression is Compression.NONE:
        assert build_batch(records, base_offset=5).hex() == GOLDEN[compression]


@pytest.mark.parametrize("compression", CODECS)
def test_what_is_written_is_read(compression: Compression) -> None:
    data = build_batch(RECORDS, base_offset=2, compression=compression)
    batch = Batch(data)
    batch.check()
    assert list(read_records(batch)) == RECORDS
    assert (batch.base_offset, batch.last_offset, batch.record_count) == (2, 9, 3)
    assert (batch.base_timestamp, batch.max_timestamp) == (1_700_000_000_000, 1_700_000_000_900)


records_strategy = st.lists(
    st.builds(
        Record,
        st.none() | st.binary(max_size=200),
        st.none() | st.binary(max_size=200),
        st.lists(st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=20)), max_size=4).map(
            lambda headers: headers or ()
        ),
        st.integers(-1, 2**62),
    ),
    min_size=1,
    max_size=20,
)


@given(records_strategy, st.sampled_from(CODECS), st.integers(0, 2**62))
def test_any_records(records: list[Record], compression: Compression, base_offset: int) -> None:
    batch = Batch(build_batch(records, base_offset=base_offset, compression=compression))
    batch.check()
    found = list(read_records(batch))
    assert [record.offset for record in found] == list(range(base_offset, base_offset + len(records)))
    for record in found:
        record.offset = -1
    assert found == records


def test_records_take_the_next_offset_or_their_own() -> None:
    data = build_batch([Record(), Record(offset=14), Record()], base_offset=10, last_offset=20)
    assert [record.offset for record in read_records(Batch(data))] == [10, 14, 15]
    assert Batch(data).last_offset == 20


@pytest.mark.parametrize(
    ("records", "arguments", "why"),
    [
        ([], {}, "at least one record"),
        ([], {"delete_horizon_ms": 5}, "at least one record"),
        ([Record(offset=4)], {"base_offset": 5}, "offset 4"),
        ([Record(offset=4), Record(offset=4)], {}, "offset 4"),
        ([Record(), Record()], {"last_offset": 0}, "last offset 0"),
        ([Record(timestamp=-2)], {}, "timestamp -2"),
        ([Record(timestamp=-1), Record(timestamp=2**63 - 1)], {}, "apart"),
        ([Record()], {"transactional": True}, "producer id"),
        ([Record()], {"producer_id": 1, "base_sequence": 0}, "producer epoch"),
        ([Record()], {"producer_id": 1, "producer_epoch": 0}, "sequence"),
    ],
)
def test_what_the_builder_refuses(records: list[Record], arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        build_batch(records, **arguments)


def test_log_append_time() -> None:
    data = build_batch(RECORDS, timestamp_type=TimestampType.LOG_APPEND_TIME, append_time_ms=55)
    assert {record.timestamp for record in read_records(Batch(data))} == {55}


def test_an_empty_batch_has_no_records() -> None:
    data = build_empty_batch(
        base_offset=5, last_offset=9, max_timestamp=3, producer_id=1, producer_epoch=0, base_sequence=4
    )
    batch = Batch(data)
    batch.check()
    assert list(read_records(batch)) == []
    assert (batch.last_offset, batch.last_sequence, batch.record_count) == (9, 8, 0)


def test_records_come_one_by_one() -> None:
    batch = one_record(body() + b"\x05", count=2)
    records = read_records(batch)
    assert next(records).offset == 0
    with pytest.raises(MalformedFrame):
        next(records)


def test_a_header_key_that_is_no_text_reads_as_java_reads_it() -> None:
    batch = one_record(body(rest=b"\x01\x01\x02" + b"\x04\xff\xfe" + b"\x01"))
    assert list(read_records(batch)) == [Record(None, None, [("\ufffd\ufffd", None)], -1, 0)]


def test_any_negative_size_is_null() -> None:
    batch = one_record(body(rest=b"\x03\x05\x00"))
    assert next(read_records(batch)).key is None


@pytest.mark.parametrize(
    ("data", "count", "why"),
    [
        (body(), -1, "-1 records"),
        (body(), 2, "ends early"),
        (body() * 2, 1, "follow"),
        (body(), 0, "follow"),
        (body(), 2**31 - 1, "ends early"),
        (varint(-1), 1, "-1 bytes"),
        (varint(100) + b"\x00", 1, "100 bytes"),
        (body()[:-1], 1, "exceeds its batch"),
        (body(rest=b"\x01\x01\x00\x00"), 1, "fields of"),
        (body(rest=b"\x01\x01"), 1, "ends early"),
        (body(rest=b"\x08ab\x01\x00"), 1, "fields of|ends early"),
        (body(rest=b"\x01\x01\x01"), 1, "-1 headers"),
        (body(rest=b"\x01\x01" + varint(2**31 - 1)), 1, "headers"),
        (body(rest=b"\x01\x01\x02\x01\x01"), 1, "null"),
        (body(rest=b"\x01\x01\x02" + varint(2**30) + b"\x01"), 1, "ends early"),
        (body(timestamp=2**63 - 1), 1, None),
        (body(timestamp=-(2**63)), 1, "64 bits"),
        (body(rest=b"\xff" * 11), 1, "varint"),
    ],
)
def test_hand_made_nonsense(data: bytes, count: int, why: str | None) -> None:
    batch = one_record(data, count)
    if why is None:
        assert len(list(read_records(batch))) == count
    else:
        refused(batch, why)


def test_an_offset_beyond_64_bits() -> None:
    refused(one_record(body(offset=100), base_offset=2**63 - 10), "64 bits")


@pytest.mark.parametrize("compression", CODECS)
def test_the_limit_is_exact(compression: Compression) -> None:
    data = build_batch([Record(None, bytes(5000))], compression=compression)
    size = len(build_batch([Record(None, bytes(5000))])) - HEADER_BYTES
    assert len(list(read_records(Batch(data), size))) == 1
    with pytest.raises(MalformedFrame, match=f"{size - 1} bytes"):
        list(read_records(Batch(data), size - 1))


def read_everything(data: bytes) -> None:
    for batch in iterate_batches(data):
        batch.crc_matches()
        for _ in read_records(batch, MAX_BYTES):
            pass


@pytest.mark.parametrize("compression", CODECS)
def test_every_prefix_reads_or_is_malformed(compression: Compression) -> None:
    data = build_batch(RECORDS, compression=compression)
    for end in range(len(data)):
        assert batch_at(data[:end]) is None
        shortened = bytearray(data[:end])
        if end >= HEADER_BYTES:
            shortened[8:12] = (end - 12).to_bytes(4, "big")
            (shorter,) = iterate_batches(shortened)
            if compression is Compression.NONE:
                refused(shorter, None)
            else:
                with suppress(MalformedFrame):
                    read_everything(bytes(shortened))


@pytest.mark.parametrize("compression", CODECS)
@pytest.mark.parametrize("flip", [0x01, 0x10, 0x80, 0xFF])
def test_every_flipped_byte_reads_or_is_malformed(compression: Compression, flip: int) -> None:
    data = build_batch(RECORDS, base_offset=2, compression=compression)
    refusals = 0
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= flip
        try:
            read_everything(bytes(damaged))
        except MalformedFrame:
            refusals += 1
    assert refusals > 5


@given(st.binary(max_size=100), st.integers(-2, 50))
def test_any_bytes_as_records(data: bytes, count: int) -> None:
    with suppress(MalformedFrame):
        list(read_records(one_record(data, count)))


@given(st.binary(max_size=100), st.integers(0, 5), st.sampled_from(CODECS))
def test_any_bytes_as_packed_records(data: bytes, count: int, compression: Compression) -> None:
    for packed in (data, compress(compression, data)):
        with suppress(MalformedFrame):
            list(read_records(one_record(packed, count, compression=compression), MAX_BYTES))
