"""One record, and the records of a batch read one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from barnabas.protocol.batches import NO_TIMESTAMP, Attributes, Batch
from barnabas.protocol.compression import MAX_DECOMPRESSED_BYTES, decompress
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.varint import read_varint

__all__ = ["NO_OFFSET", "Header", "Record", "read_records"]

NO_OFFSET = -1
"""The offset of a record that has none yet; a builder gives it the one behind its predecessor's."""

Header = tuple[str, bytes | None]

_MAX_INT64 = 2**63 - 1
_MIN_INT64 = -(2**63)


class Record(msgspec.Struct, gc=False):
    """A record as its reader sees it, with absolute offset and timestamp."""

    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[Header] = ()
    timestamp: int = NO_TIMESTAMP
    offset: int = NO_OFFSET


def read_records(batch: Batch, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[Record]:
    """The records of a batch of any magic, unpacked to `max_bytes` at most; the checksum is not looked at.

    A batch may turn out to be malformed after some of its records have been given out.
    """
    if batch.magic < 2:
        from barnabas.protocol.legacy_batches import LegacyBatch, read_legacy_records

        assert isinstance(batch, LegacyBatch)
        yield from read_legacy_records(batch, max_bytes)
        return
    body = batch.records
    if batch.record_count < 0:
        raise MalformedFrame(f"a record batch has {batch.record_count} records")
    # The cleaner leaves batches without records behind, to remember a producer's last sequence number.
    data = decompress(batch.compression, body, max_bytes) if batch.record_count else bytes(body)
    base_offset, base_timestamp = batch.base_offset, batch.base_timestamp
    append_time = batch.max_timestamp if batch.attributes & Attributes.LOG_APPEND_TIME else None
    position = 0
    for _ in range(batch.record_count):
        try:
            record, position = _read_record(data, position, base_offset, base_timestamp)
        except IndexError:
            raise MalformedFrame("a record ends early") from None
        if append_time is not None:
            record.timestamp = append_time
        yield record
    if position != len(data):
        raise MalformedFrame(f"{len(data) - position} bytes follow the records of a batch")


def _read_record(data: bytes, position: int, base_offset: int, base_timestamp: int) -> tuple[Record, int]:
    """The record at `position` and the position behind it.

    A slice beyond the end is short and raises nothing; it leaves `position` beyond the end, where the next read
    or the last check finds it.
    """
    length, position = read_varint(data, position)
    end = position + length
    if length < 0 or end > len(data):
        raise MalformedFrame(f"a record of {length} bytes exceeds its batch")
    delta, position = read_varint(data, position + 1, 64)  # behind the attributes, of which no bit is used
    timestamp = base_timestamp + delta
    delta, position = read_varint(data, position)
    offset = base_offset + delta
    if not (_MIN_INT64 <= timestamp <= _MAX_INT64 and _MIN_INT64 <= offset <= _MAX_INT64):
        raise MalformedFrame("the timestamp or offset of a record exceeds 64 bits")
    key, position = _read_field(data, position)
    value, position = _read_field(data, position)
    headers: Sequence[Header] = ()
    if data[position] == 0:
        position += 1
    else:
        headers, position = _read_headers(data, position, end)
    if position != end:
        raise MalformedFrame(f"a record of {length} bytes has fields of {length + position - end}")
    return Record(key, value, headers, timestamp, offset), position


def _read_field(data: bytes, position: int) -> tuple[bytes | None, int]:
    """A key or a value; like Kafka, this takes any negative size for null."""
    size, position = read_varint(data, position)
    if size < 0:
        return None, position
    return data[position : position + size], position + size


def _read_headers(data: bytes, position: int, end: int) -> tuple[list[Header], int]:
    """Headers keep their order and may repeat a key. Bad UTF-8 in a key becomes U+FFFD, as in Java."""
    count, position = read_varint(data, position)
    if not 0 <= count <= end - position:
        raise MalformedFrame(f"a record has {count} headers")
    headers: list[Header] = []
    for _ in range(count):
        size, position = read_varint(data, position)
        if size < 0:
            raise MalformedFrame("the key of a record's header is null")
        key = data[position : position + size].decode(errors="replace")
        value, position = _read_field(data, position + size)
        headers.append((key, value))
    return headers, position
