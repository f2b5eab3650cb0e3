"""The header of a batch: read, iterated, stamped, and never anything but MalformedFrame for hostile bytes."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import (
    HEADER_BYTES,
    MAX_SEQUENCE,
    Batch,
    TimestampType,
    batch_at,
    increment_sequence,
    iterate_batches,
    set_append_time,
    set_max_timestamp,
    stamp,
)
from barnabas.protocol.compression import Compression
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import Record, read_records

# Written by Apache Kafka 4.3.1.
GOLDEN = bytes.fromhex(
    "0000000000000005000000450000000302ef7c70790010000000010000018bcfe568000000018bcfe568050000000000"
    "0000090001000000070000000210000000026b02760014000a0201027602026801"
)

RECORDS = [Record(b"k", b"v" * 40, (), 1000), Record(None, b"", (("h", b"x"),), 1007), Record(b"", None, (), 998)]
BATCH = build_batch(
    RECORDS, base_offset=40, leader_epoch=2, producer_id=11, producer_epoch=5, base_sequence=6, transactional=True
)


def test_a_batch_of_kafkas() -> None:
    (batch,) = iterate_batches(GOLDEN)
    batch.check()
    assert (batch.base_offset, batch.last_offset, batch.partition_leader_epoch) == (5, 6, 3)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.last_sequence) == (9, 1, 7, 8)
    assert (batch.transactional, batch.control, batch.record_count) == (True, False, 2)
    records = list(read_records(batch))
    assert records == [
        Record(b"k", b"v", (), 1_700_000_000_000, 5),
        Record(None, b"v", [("h", None)], 1_700_000_000_005, 6),
    ]
    assert (
        build_batch(
            records,
            base_offset=5,
            leader_epoch=3,
            producer_id=9,
            producer_epoch=1,
            base_sequence=7,
            transactional=True,
        )
        == GOLDEN
    )


def test_every_field_of_a_batch() -> None:
    batch = Batch(b"???" + BATCH + b"!", 3)
    assert (batch.magic, batch.length, batch.size, batch.end) == (2, len(BATCH) - 12, len(BATCH), 3 + len(BATCH))
    assert (batch.base_offset, batch.last_offset_delta, batch.last_offset, batch.next_offset) == (40, 2, 42, 43)
    assert (batch.partition_leader_epoch, batch.record_count) == (2, 3)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.last_sequence) == (11, 5, 6, 8)
    assert (batch.base_timestamp, batch.max_timestamp) == (1000, 1007)
    assert (batch.compression, batch.timestamp_type) == (Compression.NONE, TimestampType.CREATE_TIME)
    assert (batch.transactional, batch.control, batch.delete_horizon_ms) == (True, False, None)
    assert bytes(batch.records) == BATCH[HEADER_BYTES:]
    assert "offsets=40..42" in repr(batch)
    batch.check()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_kind_of_buffer(kind: type) -> None:
    buffer = kind(BATCH)
    (batch,) = iterate_batches(buffer)
    batch.check()
    assert len(list(read_records(batch))) == 3


def test_the_records_are_not_copied() -> None:
    buffer = bytearray(BATCH)
    records = Batch(buffer).records
    buffer[-1] ^= 0xFF
    assert records[-1] == buffer[-1]


def test_flags() -> None:
    batch = Batch(build_batch(RECORDS, control=True, delete_horizon_ms=77, compression=Compression.GZIP))
    assert (batch.control, batch.transactional, batch.delete_horizon_ms) == (True, False, 77)
    assert batch.compression is Compression.GZIP


def test_an_unknown_compression_is_malformed() -> None:
    buffer = bytearray(BATCH)
    buffer[22] |= 7
    with pytest.raises(MalformedFrame, match="compression 7"):
        _ = Batch(buffer).compression


def test_a_batch_without_producer_has_no_last_sequence() -> None:
    assert Batch(build_batch(RECORDS)).last_sequence == -1


@pytest.mark.parametrize(
    ("sequence", "increment", "following"),
    [(0, 0, 0), (5, 3, 8), (MAX_SEQUENCE, 1, 0), (MAX_SEQUENCE - 1, 1, MAX_SEQUENCE), (MAX_SEQUENCE - 1, 5, 3)],
)
def test_sequences_wrap(sequence: int, increment: int, following: int) -> None:
    assert increment_sequence(sequence, increment) == following


def test_the_last_sequence_wraps() -> None:
    data = build_batch(RECORDS, producer_id=1, producer_epoch=0, base_sequence=MAX_SEQUENCE - 1)
    assert Batch(data).last_sequence == 0


def test_a_wrong_checksum() -> None:
    for position in (17, 21, len(BATCH) - 1):
        buffer = bytearray(BATCH)
        buffer[position] ^= 1
        batch = Batch(buffer)
        assert not batch.crc_matches()
        with pytest.raises(MalformedFrame, match="crc"):
            batch.check()


def test_only_the_header_has_to_be_there() -> None:
    batch = Batch(BATCH[:HEADER_BYTES])
    assert batch.size == len(BATCH)
    for ask in (batch.check, batch.crc_matches, lambda: batch.records):
        with pytest.raises(MalformedFrame, match="ends early"):
            ask()


def test_no_header() -> None:
    with pytest.raises(MalformedFrame, match="ends early"):
        Batch(BATCH[: HEADER_BYTES - 1])
    with pytest.raises(MalformedFrame, match="magic 1"):
        Batch(BATCH[:16] + b"\x01" + BATCH[17:])


def test_iteration_stops_before_a_torn_batch() -> None:
    for kept in range(len(BATCH)):
        batches = iterate_batches(b"..." + BATCH * 2 + BATCH[:kept], 3)
        assert [batch.position for batch in batches] == [3, 3 + len(BATCH)]
        assert batches.position == 3 + 2 * len(BATCH)
        assert batches.torn == (kept > 0)


def test_iteration_over_nothing() -> None:
    batches = iterate_batches(b"")
    assert list(batches) == []
    assert not batches.torn
    assert batch_at(b"") is None


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 13, 48])
@pytest.mark.parametrize("kept", [17, len(BATCH)])
def test_a_length_that_no_batch_has(length: int, kept: int) -> None:
    data = BATCH[:8] + length.to_bytes(4, "big", signed=True) + BATCH[12:kept]
    with pytest.raises(MalformedFrame, match="length"):
        batch_at(data)


def test_a_nonsense_length_shows_before_the_magic_is_there() -> None:
    with pytest.raises(MalformedFrame, match="length 13"):
        batch_at(BATCH[:8] + b"\x00\x00\x00\x0d")
    assert batch_at(BATCH[:8] + b"\x00\x00\x00\x0e") is None


@pytest.mark.parametrize("magic", [3, 127, 128, 255])
@pytest.mark.parametrize("kept", [17, len(BATCH)])
def test_a_magic_that_no_batch_has(magic: int, kept: int) -> None:
    with pytest.raises(MalformedFrame, match="magic"):
        batch_at(BATCH[:16] + bytes([magic]) + BATCH[17:kept])


def test_iteration_resumes_nowhere_behind_nonsense() -> None:
    batches = iterate_batches(BATCH + bytes(40))
    assert next(batches).position == 0
    with pytest.raises(MalformedFrame):
        next(batches)
    assert batches.position == len(BATCH)


@pytest.mark.parametrize("kind", [bytearray, lambda data: memoryview(bytearray(data))])
def test_stamping_leaves_the_checksum_right(kind: type) -> None:
    buffer = kind(BATCH * 2)
    stamp(buffer, len(BATCH), 2**40, 123)
    first, second = iterate_batches(buffer)
    second.check()
    assert (second.base_offset, second.last_offset, second.partition_leader_epoch) == (2**40, 2**40 + 2, 123)
    assert bytes(buffer[: first.end]) == BATCH
    unstamped = bytes(buffer[second.position + 16 :])
    assert unstamped == BATCH[16:]


def test_append_time_reaches_every_record() -> None:
    buffer = bytearray(b"-" + BATCH)
    set_append_time(buffer, 1, 5000)
    batch = Batch(buffer, 1)
    batch.check()
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert (batch.base_timestamp, batch.max_timestamp, batch.transactional) == (1000, 5000, True)
    assert [record.timestamp for record in read_records(batch)] == [5000] * 3


def test_the_highest_timestamp_is_corrected() -> None:
    buffer = bytearray(BATCH)
    set_append_time(buffer, 0, 5000)
    set_max_timestamp(buffer, 0, TimestampType.CREATE_TIME, 1007)
    assert buffer == BATCH


def test_an_unchanged_timestamp_does_not_mend_a_wrong_checksum() -> None:
    buffer = bytearray(BATCH)
    buffer[17] ^= 1
    set_max_timestamp(buffer, 0, TimestampType.CREATE_TIME, 1007)
    assert not Batch(buffer).crc_matches()


def test_stamping_half_a_batch_is_refused() -> None:
    with pytest.raises(MalformedFrame):
        set_append_time(bytearray(BATCH[:-1]), 0, 5000)


@given(st.binary(max_size=200), st.integers(0, 220))
def test_any_bytes(data: bytes, position: int) -> None:
    with suppress(MalformedFrame):
        for batch in iterate_batches(data, position):
            batch.crc_matches()
            assert batch.end <= len(data)


@given(st.binary(max_size=80), st.integers(-5, 100))
def test_any_bytes_behind_a_plausible_beginning(rest: bytes, length: int) -> None:
    data = bytes(8) + length.to_bytes(4, "big", signed=True) + bytes(4) + b"\x02" + rest
    try:
        batch = batch_at(data)
    except MalformedFrame:
        assert length < HEADER_BYTES - 12
    else:
        assert (batch is None) == (length + 12 > len(data))


@pytest.mark.parametrize("module", ["batches", "record", "batch_builder", "control", "batch_rules", "legacy_batches"])
def test_importing_loads_no_compression_library(module: str) -> None:
    code = (
        f"import sys, barnabas.protocol.{module};"
        "print([name for name in ('zstandard', 'lz4', 'snappy', 'cramjam') if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"
