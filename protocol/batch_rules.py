"""What a broker refuses of the batches that producers send, with Kafka's codes and in Kafka's order.

The first rules need the header only, and are all that the hot path asks. Kafka itself also decodes every
record; `check_records` does what it does there, for topics where a record can break a rule that a header
cannot show.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.protocol.batches import (
    LOG_OVERHEAD_BYTES,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Attributes,
    Batch,
    TimestampType,
    batch_at,
)
from barnabas.protocol.compression import Compression, check_lz4_frame
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.record import Record
from barnabas.protocol.varint import Bytes

__all__ = [
    "FIRST_VERSION_WITH_ZSTD",
    "RecordSummary",
    "RecordsRefused",
    "check_batch",
    "check_batch_timestamps",
    "check_records",
    "produced_batch",
]

LAST_COMPRESSION = int(max(Compression))
FIRST_VERSION_WITH_ZSTD = 7
"""Of Produce: consumers of that age may not know zstd, and a broker no longer unpacks for them."""


MOST_NAMED = 10_000
"""Records of one batch that are refused by name; those beyond are only counted, or the answer would exceed the batch by
far."""


class RecordsRefused(KafkaError):  # noqa: N818 - what happened, not whose fault
    """A batch is refused for some of its records; Produce v8 and later say for which, and why."""

    def __init__(self, code: ErrorCode, message: str, record_errors: list[tuple[int, str]]) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


@dataclass(frozen=True, slots=True)
class RecordSummary:
    """What only decoding tells; Kafka writes the highest timestamp into the header, whatever stood there."""

    count: int
    max_timestamp: int


def produced_batch(records: Bytes, version: int) -> Batch:
    """The one batch that a Produce request of this version may carry for a partition.

    The first bytes of another batch may follow it: Kafka trims them, so that only `batch.size` bytes count.
    """
    try:
        batch = batch_at(records)
        if batch is None:
            raise _invalid("the request carries no whole record batch")
        if batch.magic != 2:
            raise _invalid(f"the record batch has magic {batch.magic}, and only 2 is taken")
        if version < FIRST_VERSION_WITH_ZSTD and _compression(batch) is Compression.ZSTD:
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"Produce v{version} does not carry zstd, v7 does")
        if len(records) > batch.end and batch_at(records, batch.end) is not None:
            raise _invalid("the request carries more than one record batch")
    except MalformedFrame as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    return batch


def check_batch(batch: Batch, max_batch_bytes: int) -> None:
    """Refuse what the header of a producer's batch, or its checksum, shows to be wrong."""
    if batch.base_offset != 0:
        raise _invalid(f"the record batch has base offset {batch.base_offset} instead of 0")
    if LOG_OVERHEAD_BYTES + batch.length > max_batch_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the record batch has {batch.size} bytes, {max_batch_bytes} are allowed",
        )
    try:
        batch.check()
    except MalformedFrame as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    if batch.attributes & Attributes.COMPRESSION > LAST_COMPRESSION:
        _compression(batch)
    if batch.last_offset_delta < 0:
        raise _invalid(f"the record batch has last offset delta {batch.last_offset_delta}")
    if batch.record_count <= 0:
        raise _invalid(f"the record batch has {batch.record_count} records")
    if batch.record_count != batch.last_offset_delta + 1:
        raise _invalid(
            f"the record batch has {batch.record_count} records, but last offset delta {batch.last_offset_delta}"
        )
    if batch.attributes & Attributes.CONTROL:
        raise _invalid("only brokers write control batches")
    if batch.producer_id > NO_PRODUCER_ID and batch.base_sequence < 0:
        raise _invalid(f"producer {batch.producer_id} sent the sequence number {batch.base_sequence}")
    if batch.attributes & Attributes.COMPRESSION == Compression.LZ4:
        # Some libraries write frames that Kafka's consumers stop at, for good. Kafka has no code for it either.
        try:
            check_lz4_frame(batch.records)
        except MalformedFrame as error:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from None


def check_batch_timestamps(
    batch: Batch, *, timestamp_type: TimestampType, now_ms: int, before_max_ms: int, after_max_ms: int
) -> None:
    """The topic's limits on timestamps, as far as the header shows them: by its first and its highest one.

    Kafka asks every record. An honest producer's header differs from that only where a record is older than
    the first one.
    """
    if timestamp_type is TimestampType.CREATE_TIME:
        first, highest = batch.base_timestamp, batch.max_timestamp
        # What nearly all batches are, in one line.
        if now_ms - before_max_ms <= first <= highest <= now_ms + after_max_ms:
            return
        for timestamp in (first, highest):
            if _out_of_range(timestamp, now_ms, before_max_ms, after_max_ms):
                raise KafkaError(ErrorCode.INVALID_TIMESTAMP, _out_of_range_message(timestamp, now_ms))
    elif batch.timestamp_type is TimestampType.LOG_APPEND_TIME:
        raise KafkaError(ErrorCode.INVALID_TIMESTAMP, "only brokers set the timestamp type LogAppendTime")


def check_records(
    batch: Batch,
    records: Iterable[Record],
    *,
    compacted: bool,
    timestamp_type: TimestampType,
    now_ms: int,
    before_max_ms: int,
    after_max_ms: int,
    repacked: bool = False,
) -> RecordSummary:
    """Refuse a producer's batch for what its decoded `records` show; the error names every bad one.

    Offsets that do not count 0, 1, 2 are no matter to Kafka in an uncompressed batch, nor where the topic's own
    compression makes it pack the batch anew (`repacked`). In a compressed batch that it would keep as it is they
    make it fail: it then wants to pack anew too, but has not kept the keys and values.
    """
    errors: list[tuple[int, str]] = []
    code = ErrorCode.INVALID_RECORD
    count = refused = 0
    max_timestamp = NO_TIMESTAMP
    in_order = True
    try:
        for index, record in enumerate(records):
            count += 1
            in_order = in_order and record.offset - batch.base_offset == index
            max_timestamp = max(max_timestamp, record.timestamp)
            if compacted and record.key is None:
                why = "a compacted topic takes no record without a key"
            elif timestamp_type is TimestampType.CREATE_TIME and record.timestamp != NO_TIMESTAMP:
                if not _out_of_range(record.timestamp, now_ms, before_max_ms, after_max_ms):
                    continue
                code = ErrorCode.INVALID_TIMESTAMP
                why = _out_of_range_message(record.timestamp, now_ms)
            elif batch.timestamp_type is TimestampType.LOG_APPEND_TIME:
                code = ErrorCode.INVALID_TIMESTAMP
                why = "only brokers set the timestamp type LogAppendTime"
            else:
                continue
            refused += 1
            if refused <= MOST_NAMED:
                errors.append((index, why))
    except MalformedFrame as error:
        raise _invalid(str(error)) from None
    if errors:
        message = f"{refused} of {count} records are refused, the first because {errors[0][1]}"
        raise RecordsRefused(code, message, errors)
    if not (in_order or repacked or batch.compression is Compression.NONE):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the offsets in a compressed batch have gaps")
    return RecordSummary(count, max_timestamp)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)


def _compression(batch: Batch) -> Compression:
    """Kafka has no code for numbers it does not know: it fails on them, and answers as for any failure."""
    try:
        return batch.compression
    except MalformedFrame as error:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from None


def _out_of_range(timestamp: int, now_ms: int, before_max_ms: int, after_max_ms: int) -> bool:
    if timestamp == NO_TIMESTAMP:
        return False
    return now_ms - timestamp > before_max_ms or timestamp - now_ms > after_max_ms


def _out_of_range_message(timestamp: int, now_ms: int) -> str:
    return f"timestamp {timestamp} is too far from the broker's time {now_ms}"
