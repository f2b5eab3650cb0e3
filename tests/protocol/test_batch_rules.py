"""Which code a producer gets for which batch; test_batches_against_kafka.py asks Kafka the same."""

from __future__ import annotations

from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batch_rules import (
    RecordsRefused,
    RecordSummary,
    check_batch,
    check_batch_timestamps,
    check_records,
    produced_batch,
)
from barnabas.protocol.batches import Batch, TimestampType, stamp
from barnabas.protocol.compression import Compression
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.record import Record, read_records

NOW = 1_000_000
RECORDS = [Record(b"k", b"v", (), NOW, 0), Record(None, b"w", (), NOW + 50, 1), Record(b"l", None, (), NOW - 50, 2)]
PRODUCER: dict[str, Any] = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 3}
CREATE, APPEND = TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME


def code_of(data: bytes | bytearray, version: int = 12, max_batch_bytes: int = 1000) -> ErrorCode:
    try:
        check_batch(produced_batch(data, version), max_batch_bytes)
    except KafkaError as error:
        assert error.message
        return error.code
    return ErrorCode.NONE


def altered(start: int, value: bytes, *, mend_crc: bool = True, **arguments: Any) -> bytes:
    data = bytearray(build_batch(RECORDS, **arguments))
    data[start : start + len(value)] = value
    if mend_crc:
        data[17:21] = Batch(data).compute_crc().to_bytes(4, "big")
    return bytes(data)


GOOD = build_batch(RECORDS)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (GOOD, "NONE"),
        (GOOD + GOOD[:30], "NONE"),
        (build_batch(RECORDS, transactional=True, **PRODUCER), "NONE"),
        (b"", "INVALID_RECORD"),
        (GOOD[:-1], "INVALID_RECORD"),
        (GOOD * 2, "INVALID_RECORD"),
        (GOOD + bytes(12), "CORRUPT_MESSAGE"),
        (altered(16, b"\x01", mend_crc=False), "INVALID_RECORD"),
        (altered(16, b"\x03", mend_crc=False), "CORRUPT_MESSAGE"),
        (altered(8, b"\x00\x00\x00\x0d", mend_crc=False), "CORRUPT_MESSAGE"),
        (altered(17, b"\x00\x00\x00\x00", mend_crc=False), "CORRUPT_MESSAGE"),
        (altered(0, b"\x00" * 7 + b"\x01"), "INVALID_RECORD"),
        (altered(12, b"\x00\x00\x00\x63"), "NONE"),
        (altered(23, b"\xff\xff\xff\xff"), "INVALID_RECORD"),
        (altered(23, b"\x00\x00\x00\x03"), "INVALID_RECORD"),
        (altered(57, b"\x00\x00\x00\x00"), "INVALID_RECORD"),
        (altered(57, b"\xff\xff\xff\xff"), "INVALID_RECORD"),
        (altered(57, b"\x00\x00\x00\x02"), "INVALID_RECORD"),
        (altered(22, b"\x20"), "INVALID_RECORD"),
        (altered(22, b"\x07"), "UNKNOWN_SERVER_ERROR"),
        (altered(53, b"\xff\xff\xff\xff", **PRODUCER), "INVALID_RECORD"),
    ],
)
def test_codes(data: bytes, code: str) -> None:
    assert code_of(data).name == code


def test_size() -> None:
    assert code_of(GOOD, max_batch_bytes=len(GOOD)) is ErrorCode.NONE
    assert code_of(GOOD, max_batch_bytes=len(GOOD) - 1) is ErrorCode.MESSAGE_TOO_LARGE


def test_zstd_needs_produce_v7() -> None:
    data = build_batch(RECORDS, compression=Compression.ZSTD)
    assert code_of(data, version=7) is ErrorCode.NONE
    assert code_of(data, version=6) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert code_of(build_batch(RECORDS, compression=Compression.LZ4), version=3) is ErrorCode.NONE


def test_lz4_that_kafka_does_not_read() -> None:
    """kafkajs with lz4js writes dependent blocks; a Java consumer would stop at them."""
    good = bytearray(build_batch(RECORDS, compression=Compression.LZ4))
    for position, value in ((65, 0x40), (61, 0)):  # the flags, and the magic, of the frame
        bad = bytearray(good)
        bad[position] = value
        bad[17:21] = crc32c(bad[21:]).to_bytes(4)
        assert code_of(bad) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_the_order_of_the_rules() -> None:
    """An earlier rule hides a later one: this batch breaks all of them."""
    data = bytearray(altered(22, b"\x27"))
    data[17] ^= 1
    stamp(data, 0, 9, 0)
    assert code_of(data, max_batch_bytes=1) is ErrorCode.INVALID_RECORD
    stamp(data, 0, 0, 0)
    assert code_of(data, max_batch_bytes=1) is ErrorCode.MESSAGE_TOO_LARGE
    assert code_of(data) is ErrorCode.CORRUPT_MESSAGE


def test_every_prefix_and_every_flipped_byte() -> None:
    """Only KafkaError; and in the checksummed part nothing passes."""
    data = build_batch(RECORDS, **PRODUCER)
    for end in range(len(data)):
        assert code_of(data[:end]) is ErrorCode.INVALID_RECORD
    for position in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            passed = code_of(damaged) is ErrorCode.NONE
            assert passed == (12 <= position < 16)  # the leader epoch, which the broker writes anyway


@given(st.binary(max_size=150), st.integers(0, 12))
def test_any_bytes(data: bytes, version: int) -> None:
    assert code_of(data, version) is not ErrorCode.NONE


def summary_of(data: bytes, **arguments: Any) -> RecordSummary:
    batch = Batch(data)
    settings = {
        "compacted": False,
        "timestamp_type": CREATE,
        "now_ms": NOW,
        "before_max_ms": 50,
        "after_max_ms": 50,
    }
    return check_records(batch, read_records(batch), **(settings | arguments))


@pytest.mark.parametrize("compression", Compression)
def test_good_records(compression: Compression) -> None:
    assert summary_of(build_batch(RECORDS, compression=compression)) == RecordSummary(3, NOW + 50)


def test_a_compacted_topic_needs_keys() -> None:
    with pytest.raises(RecordsRefused) as refused:
        summary_of(GOOD, compacted=True)
    assert refused.value.code is ErrorCode.INVALID_RECORD
    assert [index for index, _ in refused.value.record_errors] == [1]


@pytest.mark.parametrize(("limit", "index"), [("before_max_ms", 2), ("after_max_ms", 1)])
def test_timestamps_have_limits(limit: str, index: int) -> None:
    with pytest.raises(RecordsRefused) as refused:
        summary_of(GOOD, **{limit: 49})
    assert refused.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [bad for bad, _ in refused.value.record_errors] == [index]


def test_every_bad_record_is_named_and_a_bad_timestamp_decides_the_code() -> None:
    with pytest.raises(RecordsRefused) as refused:
        summary_of(GOOD, compacted=True, before_max_ms=49)
    assert refused.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [bad for bad, _ in refused.value.record_errors] == [1, 2]
    assert "2 of 3" in refused.value.message


def test_no_timestamp_is_always_in_range() -> None:
    data = build_batch([Record(timestamp=-1)])
    assert summary_of(data, before_max_ms=0) == RecordSummary(1, -1)
    check_batch_timestamps(Batch(data), timestamp_type=CREATE, now_ms=NOW, before_max_ms=0, after_max_ms=0)


def test_a_topic_with_append_time_has_no_limits_but_takes_no_append_time() -> None:
    assert summary_of(GOOD, timestamp_type=APPEND, before_max_ms=0, after_max_ms=0).count == 3
    appended = build_batch(RECORDS, timestamp_type=APPEND, append_time_ms=NOW)
    with pytest.raises(RecordsRefused) as refused:
        summary_of(appended, timestamp_type=APPEND)
    assert refused.value.code is ErrorCode.INVALID_TIMESTAMP
    assert summary_of(appended, timestamp_type=CREATE).max_timestamp == NOW


def test_gaps_matter_in_batches_that_stay_compressed() -> None:
    gaps = [Record(timestamp=NOW, offset=0), Record(timestamp=NOW, offset=2)]
    assert summary_of(build_batch(gaps)).count == 2
    packed = build_batch(gaps, compression=Compression.SNAPPY)
    assert summary_of(packed, repacked=True).count == 2
    with pytest.raises(KafkaError) as refused:
        summary_of(packed)
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_offsets_count_from_the_base() -> None:
    packed = build_batch(RECORDS, compression=Compression.GZIP)
    stamped = bytearray(packed)
    stamp(stamped, 0, 700, 3)
    assert summary_of(bytes(stamped)).count == 3


def test_malformed_records_are_the_producers_fault() -> None:
    for data in (altered(57, b"\x00\x00\x00\x04"), altered(22, b"\x01")):
        with pytest.raises(KafkaError) as refused:
            summary_of(data)
        assert refused.value.code is ErrorCode.INVALID_RECORD


def header_code(data: bytes, timestamp_type: TimestampType, before: int, after: int) -> ErrorCode:
    try:
        check_batch_timestamps(
            Batch(data), timestamp_type=timestamp_type, now_ms=NOW, before_max_ms=before, after_max_ms=after
        )
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def test_timestamps_by_the_header() -> None:
    old, new = build_batch([Record(timestamp=NOW - 50)]), build_batch(RECORDS)
    assert header_code(old, CREATE, 50, 0) is ErrorCode.NONE
    assert header_code(old, CREATE, 49, 0) is ErrorCode.INVALID_TIMESTAMP
    assert header_code(new, CREATE, 0, 50) is ErrorCode.NONE
    assert header_code(new, CREATE, 0, 49) is ErrorCode.INVALID_TIMESTAMP
    assert header_code(new, APPEND, 0, 0) is ErrorCode.NONE
    appended = build_batch(RECORDS, timestamp_type=APPEND, append_time_ms=NOW)
    assert header_code(appended, APPEND, 50, 50) is ErrorCode.INVALID_TIMESTAMP
