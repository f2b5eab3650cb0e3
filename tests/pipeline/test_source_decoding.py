"""What numpy reads out of record batches is what the codec reads, record by record."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numpy")
pytest.importorskip("pyarrow")

from barnabas.pipeline.source.decoding import decode
from barnabas.pipeline.source.errors import SourceError
from barnabas.protocol.batch_builder import build_batch, build_empty_batch
from barnabas.protocol.batches import HEADER_BYTES, Batch, TimestampType, iterate_batches
from barnabas.protocol.compression import Compression
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import Record, read_records

EVERYTHING = 2**62
fields = st.none() | st.binary(max_size=8) | st.sampled_from([bytes(63), bytes(64), bytes(8191), bytes(8192)])
header_lists = st.lists(st.tuples(st.text("aé€😀", max_size=4), fields), max_size=3)


@st.composite
def batches(draw: st.DrawFn, base_offset: int) -> bytes:
    """One batch, with holes as compaction leaves them."""
    offset, records = base_offset, []
    for _ in range(draw(st.integers(1, 4))):
        offset += draw(st.integers(0, 3) | st.integers(100, 20_000))
        timestamp = draw(st.integers(-1, 2**45))
        records.append(Record(draw(fields), draw(fields), draw(header_lists), timestamp, offset))
        offset += 1
    return build_batch(
        records,
        base_offset=base_offset,
        last_offset=offset + draw(st.integers(0, 5)),
        compression=draw(st.sampled_from(Compression)),
        timestamp_type=draw(st.sampled_from([TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME])),
        append_time_ms=draw(st.integers(0, 2**45)),
    )


def empty_batch(offset: int) -> bytes:
    return build_empty_batch(
        base_offset=offset, last_offset=offset + 1, max_timestamp=-1, producer_id=1, producer_epoch=0, base_sequence=0
    )


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    log, offset = [], draw(st.integers(0, 2**40))
    for _ in range(draw(st.integers(0, 3))):
        data = draw(batches(offset))
        log.append(data)
        offset = Batch(data).next_offset + draw(st.integers(0, 2))
        if draw(st.booleans()):
            log.append(empty_batch(offset))
            offset += 2
    return b"".join(log)


def expected(log: bytes, first: int = 0, end: int = EVERYTHING) -> list[dict[str, Any]]:
    return [
        {
            "key": each.key,
            "value": each.value,
            "topic": "orders",
            "partition": 3,
            "offset": each.offset,
            "timestamp": each.timestamp * 1000,
            "timestampType": int(batch.timestamp_type),
            "headers": [{"key": name, "value": value} for name, value in each.headers] or None,
        }
        for batch in iterate_batches(log)
        for each in read_records(batch)
        if first <= each.offset < end
    ]


def rows(made: Iterable[Any]) -> list[dict[str, Any]]:
    found = []
    for batch in made:
        batch.validate(full=True)
        number = batch.schema.get_field_index("timestamp")
        found += batch.set_column(number, "timestamp", batch.column(number).cast("int64")).to_pylist()
    return found


def decoded(log: bytes, first: int = 0, end: int = EVERYTHING, **limits: int) -> list[dict[str, Any]]:
    return rows(decode(iterate_batches(log), "orders", 3, first, end, headers=True, **limits))


@given(logs(), st.integers(1, 400), st.integers(1, 8))
def test_any_log_is_what_the_codec_reads(log: bytes, most_bytes: int, most_records: int) -> None:
    assert decoded(log) == expected(log)
    assert decoded(log, most_bytes=most_bytes, most_records=most_records) == expected(log)


@given(logs(), st.data())
def test_a_range_may_begin_and_end_within_a_batch(log: bytes, data: st.DataObject) -> None:
    offsets = [each["offset"] for each in expected(log)] or [0]
    first, end = data.draw(st.sampled_from(offsets)), data.draw(st.sampled_from(offsets))
    assert decoded(log, first, end) == expected(log, first, end)


@given(logs(), st.data())
def test_what_is_damaged_is_refused_or_read_as_the_codec_reads_it(log: bytes, data: st.DataObject) -> None:
    """The checksum is looked at before, so that only a broken producer's bytes come so far."""
    damaged = bytearray(log)
    body = [
        position
        for batch in iterate_batches(log)
        for position in range(batch.position + HEADER_BYTES, batch.end)
        if batch.compression is Compression.NONE
    ]
    for position in data.draw(st.lists(st.sampled_from(body), max_size=3)) if body else []:
        damaged[position] = data.draw(st.integers(0, 255))
    try:
        wanted = expected(bytes(damaged), first=-EVERYTHING)
    except MalformedFrame:
        with pytest.raises((MalformedFrame, SourceError)):
            decoded(bytes(damaged), first=-EVERYTHING)
        return
    try:
        found = decoded(bytes(damaged), first=-EVERYTHING)
    except SourceError as error:
        assert "which Spark's timestamps cannot hold" in str(error)
        return
    assert found == wanted


def test_records_are_handed_out_in_pieces_however_large_their_batch_is() -> None:
    log = build_batch([Record(None, bytes(1000)) for _ in range(1000)], compression=Compression.GZIP)
    made = list(decode(iterate_batches(log), "orders", 0, 0, 1000, headers=False, most_bytes=50_000))
    assert sum(batch.num_rows for batch in made) == 1000
    assert max(batch.num_rows for batch in made) <= 50
    many = build_batch([Record(None, None) for _ in range(1000)])
    made = list(decode(iterate_batches(many), "orders", 0, 0, 1000, headers=False, most_records=64))
    assert [batch.num_rows for batch in made] == [64] * 15 + [40]


def test_headers_are_left_out_where_nobody_wants_them() -> None:
    log = build_batch([Record(b"k", b"v", [("n", b"1")])])
    (made,) = decode(iterate_batches(log), "orders", 0, 0, 1, headers=False)
    assert made.schema.names == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    assert made.column("value").to_pylist() == [b"v"]


def test_a_header_whose_name_is_no_text_is_shown_as_java_shows_it() -> None:
    log = bytearray(build_batch([Record(b"k", b"v", [("abc", b"1")])]))
    log[log.index(b"abc")] = 0xFF
    assert decoded(bytes(log))[0]["headers"] == [{"key": "\ufffdbc", "value": b"1"}]


def test_a_timestamp_in_nanoseconds_is_named() -> None:
    log = build_batch([Record(b"k", b"v", timestamp=2**62)], base_offset=7)
    with pytest.raises(SourceError, match="The record at offset 7 of orders-3 has the timestamp 4611686018427387904"):
        decoded(log)


def message_of_magic_1(offset: int, value: bytes, timestamp: int) -> bytes:
    import zlib

    content = struct.pack(">bbqi", 1, 0, timestamp, -1) + struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", offset, len(content) + 4, zlib.crc32(content)) + content


def test_messages_of_old_formats_keep_their_place_among_batches() -> None:
    log = message_of_magic_1(5, b"old", 1000) + build_batch([Record(b"k", b"new", timestamp=2000)], base_offset=6)
    assert [(each["offset"], each["value"], each["timestamp"]) for each in decoded(log)] == [
        (5, b"old", 1_000_000),
        (6, b"new", 2_000_000),
    ]
    assert decoded(log, first=6) == expected(log, first=6)
