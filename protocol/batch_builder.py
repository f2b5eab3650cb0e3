"""Writing batches of magic 2: byte for byte what Kafka's MemoryRecordsBuilder writes, if nothing is packed."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

from barnabas.protocol import checksum
from barnabas.protocol.batches import (
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    Attributes,
    TimestampType,
)
from barnabas.protocol.compression import Compression, compress
from barnabas.protocol.record import NO_OFFSET, Record
from barnabas.protocol.varint import varint

__all__ = ["assemble_batch", "build_batch", "build_empty_batch"]

_MAX_INT64 = 2**63 - 1
_NULL = varint(-1)

# The two parts of a batch's header: what stands before the checksum and it, and what it covers.
_UNCHECKED = Struct(">qiibI")
_CHECKED = Struct(">hiqqqhii")


def build_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    last_offset: int | None = None,
    compression: Compression = Compression.NONE,
    compression_level: int | None = None,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    append_time_ms: int = NO_TIMESTAMP,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """One batch of one or more records.

    A record without an offset gets the one behind its predecessor's, the first one `base_offset`.
    `last_offset` may lie behind the last record's: the cleaner keeps the offsets that a batch once spanned.
    Timestamps of the records count even where `timestamp_type` is LOG_APPEND_TIME: readers see
    `append_time_ms`, the deltas remember the rest.
    """
    if transactional or producer_id != NO_PRODUCER_ID:
        _check_producer(producer_id, producer_epoch, base_sequence, control)
    base_timestamp = delete_horizon_ms
    next_offset = base_offset
    max_timestamp = NO_TIMESTAMP
    parts: list[bytes] = []
    for record in records:
        offset = next_offset if record.offset == NO_OFFSET else record.offset
        if offset < next_offset:
            raise ValueError(f"offset {offset} where {next_offset} or a higher one was due")
        timestamp = record.timestamp
        if timestamp < NO_TIMESTAMP:
            raise ValueError(f"a record has the timestamp {timestamp}")
        if base_timestamp is None:
            base_timestamp = timestamp
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        body = _record_body(record, timestamp - base_timestamp, offset - base_offset)
        parts += (varint(len(body)), body)
        next_offset = offset + 1
    if base_timestamp is None or not parts:
        raise ValueError("a batch has at least one record; build_empty_batch makes those without")
    if max_timestamp - base_timestamp > _MAX_INT64:
        raise ValueError("the timestamps of a batch are further apart than 63 bits hold")
    if last_offset is not None and last_offset < next_offset - 1:
        raise ValueError(f"last offset {last_offset} lies before the last record's, {next_offset - 1}")

    attributes = _attributes(timestamp_type, transactional, control) | compression
    if delete_horizon_ms is not None:
        attributes |= Attributes.DELETE_HORIZON
    return assemble_batch(
        compress(compression, b"".join(parts), compression_level),
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        attributes=attributes,
        last_offset_delta=(next_offset - 1 if last_offset is None else last_offset) - base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=append_time_ms if timestamp_type is TimestampType.LOG_APPEND_TIME else max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(parts) // 2,
    )


def build_empty_batch(
    *,
    base_offset: int,
    last_offset: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """The header that the cleaner leaves where it removed all records, so that their producer stays known."""
    return assemble_batch(
        b"",
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        attributes=_attributes(timestamp_type, transactional, control),
        last_offset_delta=last_offset - base_offset,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=0,
    )


def _check_producer(producer_id: int, producer_epoch: int, base_sequence: int, control: bool) -> None:
    """Only control batches come from a producer that does not number them."""
    if producer_id == NO_PRODUCER_ID:
        raise ValueError("a transactional batch needs a producer id")
    if producer_epoch == NO_PRODUCER_EPOCH:
        raise ValueError("a batch with a producer id needs a producer epoch")
    if base_sequence < 0 and not control:
        raise ValueError("a batch with a producer id needs a sequence number")


def _attributes(timestamp_type: TimestampType, transactional: bool, control: bool) -> int:
    attributes = 0
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= Attributes.LOG_APPEND_TIME
    if transactional:
        attributes |= Attributes.TRANSACTIONAL
    if control:
        attributes |= Attributes.CONTROL
    return attributes


def _record_body(record: Record, timestamp_delta: int, offset_delta: int) -> bytes:
    """A record without the length that stands before it."""
    key, value, headers = record.key, record.value, record.headers
    parts = [
        b"\x00",  # attributes, of which no bit means anything yet
        varint(timestamp_delta),
        varint(offset_delta),
        _NULL if key is None else varint(len(key)),
        key or b"",
        _NULL if value is None else varint(len(value)),
        value or b"",
        varint(len(headers)),
    ]
    for name, value in headers:
        encoded = name.encode()
        parts += (varint(len(encoded)), encoded)
        if value is None:
            parts.append(_NULL)
        else:
            parts += (varint(len(value)), value)
    return b"".join(parts)


def assemble_batch(
    body: bytes,
    *,
    base_offset: int,
    leader_epoch: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    record_count: int,
) -> bytes:
    """A header before records that are encoded, and packed, already."""
    checked = _CHECKED.pack(
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    crc = checksum.crc32c(body, checksum.crc32c(checked))
    length = HEADER_BYTES - LOG_OVERHEAD_BYTES + len(body)
    return b"".join((_UNCHECKED.pack(base_offset, length, leader_epoch, 2, crc), checked, body))
