"""Record batches as Arrow columns, fast: Python looks at each record once, to find where it ends, and numpy reads the
fields of thousands of records at a time. What it makes of them is what protocol/record.py makes of them, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from barnabas.pipeline.source.columns import batch_of, batch_of_records
from barnabas.pipeline.source.headers import header_column
from barnabas.pipeline.source.slices import SLACK, slices, varints
from barnabas.protocol.batches import Attributes, Batch
from barnabas.protocol.compression import decompress
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import read_records
from barnabas.protocol.varint import read_varint

__all__ = ["MOST_BYTES", "MOST_RECORDS", "decode"]

MOST_BYTES = 4 << 20
"""Of records that are decoded at once; only one that is larger itself exceeds it."""
MOST_RECORDS = 1 << 16


def decode(
    batches: Iterable[Batch],
    topic: str,
    partition: int,
    first: int,
    end: int,
    *,
    headers: bool,
    most_bytes: int = MOST_BYTES,
    most_records: int = MOST_RECORDS,
) -> Iterator[pa.RecordBatch]:
    """The records from offset `first` on, and before `end`. MalformedFrame for what are no records."""
    gathered = _Gathered(topic, partition, first, end, headers)
    for batch in batches:
        if batch.magic < 2:
            yield from gathered.take()
            records = [each for each in read_records(batch) if first <= each.offset < end]
            if records:
                yield batch_of_records(topic, partition, records, batch.timestamp_type, headers=headers)
            continue
        if batch.record_count < 0:
            raise MalformedFrame(f"a record batch has {batch.record_count} records")
        # The cleaner leaves batches without records behind, to remember a producer's last sequence number.
        data = decompress(batch.compression, batch.records) if batch.record_count else b""
        position, left = 0, batch.record_count
        while left:
            begin = position
            known = len(gathered.starts)
            fits = min(left, most_records - known)
            position = _find_starts(data, begin, fits, gathered.size, most_bytes, gathered.starts)
            found = len(gathered.starts) - known
            gathered.add(data[begin:position], batch, found)
            left -= found
            if gathered.size >= most_bytes or len(gathered.starts) >= most_records:
                yield from gathered.take()
        if position != len(data):
            raise MalformedFrame(f"{len(data) - position} bytes follow the records of a batch")
    yield from gathered.take()


def _find_starts(data: bytes, begin: int, count: int, base: int, most_bytes: int, starts: list[int]) -> int:
    """Adds to `starts` where records from `begin` on start, as if `begin` were at `base`: `count` of them, or until
    they reach `most_bytes`. The position behind them."""
    shift = base - begin
    limit = begin + most_bytes - base
    position = begin
    append = starts.append
    try:
        for _ in range(count):
            append(position + shift)
            size = data[position]
            if size < 0x80:
                position += (size >> 1) + 1
            elif (second := data[position + 1]) < 0x80:
                position += ((size & 0x7F | second << 7) >> 1) + 2
            else:
                size, position = read_varint(data, position)
                position += size
            if position >= limit:
                break
    except IndexError:
        raise MalformedFrame("a record ends early") from None
    # A size below zero leads anywhere; whoever reads the fields finds that it does not fit.
    if not begin < position <= len(data):
        raise MalformedFrame("a record exceeds its batch")
    return position


class _Gathered:
    """Records of some batches, until there are enough of them to be decoded."""

    def __init__(self, topic: str, partition: int, first: int, end: int, headers: bool) -> None:
        self._topic = topic
        self._partition = partition
        self._first = first
        self._end = end
        self._headers = headers
        self._clear()

    def _clear(self) -> None:
        self.size = 0
        self.starts: list[int] = []
        self._parts: list[bytes] = []
        self._counts: list[int] = []
        self._heads: list[tuple[int, int, int, int]] = []

    def add(self, data: bytes, batch: Batch, count: int) -> None:
        appended = bool(batch.attributes & Attributes.LOG_APPEND_TIME)
        self._parts.append(data)
        self._counts.append(count)
        self._heads.append((batch.base_offset, batch.base_timestamp, int(appended), batch.max_timestamp))
        self.size += len(data)

    def take(self) -> Iterator[pa.RecordBatch]:
        if not self.starts:
            return
        made = self._decode()
        self._clear()
        if made.num_rows:
            yield made

    def _decode(self) -> pa.RecordBatch:
        packed = b"".join([*self._parts, SLACK])
        data = np.frombuffer(packed, np.uint8)
        starts = np.array(self.starts, np.int64)
        ends: np.ndarray = np.append(starts[1:], self.size)
        sizes, at = varints(data, starts, 32)
        _check((sizes >= 0) & (at + sizes == ends), "a record has another size than its fields")
        timestamp_deltas, at = varints(data, at + 1, 64)  # behind the attributes, of which no bit is used
        offset_deltas, at = varints(data, at, 32)
        _check(at <= ends, "a record ends early")
        key_sizes, keys_at = varints(data, at, 32)
        keys_end = keys_at + np.maximum(key_sizes, 0)
        _check(keys_end <= ends, "a record's key exceeds it")
        value_sizes, values_at = varints(data, keys_end, 32)
        values_end = values_at + np.maximum(value_sizes, 0)
        _check(values_end <= ends, "a record's value exceeds it")
        header_counts, headers_at = varints(data, values_end, 32)
        _check((header_counts >= 0) & (header_counts <= ends - headers_at), "a record's headers exceed it")
        _check((header_counts > 0) | (headers_at == ends), "a record is longer than its fields")

        heads = np.repeat(np.array(self._heads, np.int64), self._counts, axis=0)
        base_offsets, base_timestamps, appended, append_times = heads.T
        offsets = base_offsets + offset_deltas
        timestamps = base_timestamps + timestamp_deltas
        _check((offsets >= base_offsets) == (offset_deltas >= 0), "the offset of a record exceeds 64 bits")
        _check((timestamps >= base_timestamps) == (timestamp_deltas >= 0), "a timestamp exceeds 64 bits")
        keys, values = slices(packed, (keys_at, keys_end, key_sizes < 0), (values_at, values_end, value_sizes < 0))
        made = batch_of(
            self._topic,
            self._partition,
            keys,
            values,
            offsets,
            np.where(appended, append_times, timestamps),
            appended.astype(np.int32),
            header_column(packed, data, header_counts, headers_at, ends) if self._headers else None,
        )
        wanted = (offsets >= self._first) & (offsets < self._end)
        return made if wanted.all() else made.filter(pa.array(wanted))


def _check(right: Any, otherwise: str) -> None:
    if not right.all():
        raise MalformedFrame(otherwise)
