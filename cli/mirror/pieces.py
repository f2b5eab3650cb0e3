"""What is sent to the target, made of what was fetched from the source: one batch a piece; pure.

A large batch goes as it is, compressed as it is. Small ones are put together, and those that cannot be sent as they are
(compaction has thinned them, a broker has stamped their times) are made anew: the records themselves are only moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from barnabas.protocol.batch_builder import assemble_batch, build_batch
from barnabas.protocol.batches import (
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    Attributes,
    Batch,
)
from barnabas.protocol.compression import MAX_DECOMPRESSED_BYTES, Compression, compress, decompress
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import NO_OFFSET, read_records
from barnabas.protocol.varint import read_varint, varint

__all__ = ["Piece", "pieces_of"]

_LARGE_BYTES = 1 << 16
"""From this size on a batch is worth a request of its own."""
_NOT_AS_IT_IS = Attributes.LOG_APPEND_TIME | Attributes.DELETE_HORIZON


class Piece(NamedTuple):
    data: bytearray
    """A batch of nobody yet: `set_producer` makes it somebody's."""
    runs: list[tuple[int, int]]
    """Offsets at the source, and how many records follow each other from there on."""
    records: int
    next_offset: int
    """All before it that is to be copied is in this piece, or in one before."""


def pieces_of(batches: Iterable[Batch], first_offset: int, batch_bytes: int) -> Iterator[Piece]:
    """Of batches that are to be copied, from that offset on. MalformedFrame where one is damaged."""
    waiting: list[Batch] = []
    size = 0
    for batch in batches:
        batch.check()
        if not batch.record_count or batch.last_offset < first_offset:
            continue
        alone = _goes_as_it_is(batch, first_offset) and batch.size >= _LARGE_BYTES
        fits = size + batch.size <= batch_bytes and (not waiting or waiting[-1].compression is batch.compression)
        if waiting and (alone or not fits or batch.magic < 2):
            yield from _together(waiting, first_offset)
            waiting, size = [], 0
        if alone:
            yield _as_it_is(batch)
        elif batch.magic < 2:
            yield from _of_old_format(batch, first_offset)
        else:
            waiting.append(batch)
            size += batch.size
    if waiting:
        yield from _together(waiting, first_offset)


def _goes_as_it_is(batch: Batch, first_offset: int) -> bool:
    return (
        batch.magic == 2
        and batch.base_offset >= first_offset
        and batch.record_count == batch.last_offset_delta + 1
        and not batch.attributes & _NOT_AS_IT_IS
    )


def _as_it_is(batch: Batch) -> Piece:
    data = bytearray(memoryview(batch.buffer)[batch.position : batch.end])
    return Piece(data, [(batch.base_offset, batch.record_count)], batch.record_count, batch.next_offset)


def _together(batches: Sequence[Batch], first_offset: int) -> Iterator[Piece]:
    if len(batches) == 1 and _goes_as_it_is(batches[0], first_offset):
        yield _as_it_is(batches[0])
        return
    body: list[bytes] = []
    runs: list[tuple[int, int]] = []
    count = 0
    base_timestamp = max_timestamp = NO_TIMESTAMP
    for batch in batches:
        for offset, timestamp, rest in _moved_records(batch):
            if offset < first_offset:
                continue
            if not count:
                base_timestamp = timestamp
            max_timestamp = max(max_timestamp, timestamp)
            head = b"\x00" + varint(timestamp - base_timestamp) + varint(count)
            body += (varint(len(head) + len(rest)), head, rest)
            _add(runs, offset)
            count += 1
    if not count:
        return
    compression = batches[0].compression
    data = assemble_batch(
        compress(compression, b"".join(body)),
        base_offset=0,
        leader_epoch=NO_PARTITION_LEADER_EPOCH,
        attributes=int(compression),
        last_offset_delta=count - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=NO_PRODUCER_ID,
        producer_epoch=NO_PRODUCER_EPOCH,
        base_sequence=NO_SEQUENCE,
        record_count=count,
    )
    yield Piece(bytearray(data), runs, count, batches[-1].next_offset)


def _moved_records(batch: Batch) -> Iterator[tuple[int, int, bytes]]:
    """Offset, timestamp, and all that stands behind these, of each record."""
    packed = batch.compression is not Compression.NONE
    data = decompress(batch.compression, batch.records, MAX_DECOMPRESSED_BYTES) if packed else bytes(batch.records)
    append_time = batch.max_timestamp if batch.attributes & Attributes.LOG_APPEND_TIME else None
    base_offset, base_timestamp, position = batch.base_offset, batch.base_timestamp, 0
    try:
        for _ in range(batch.record_count):
            length, position = read_varint(data, position)
            end = position + length
            delta, at = read_varint(data, position + 1, 64)
            timestamp = base_timestamp + delta if append_time is None else append_time
            delta, at = read_varint(data, at)
            if not at < end <= len(data):
                raise MalformedFrame(f"a record of {length} bytes exceeds its batch")
            yield base_offset + delta, timestamp, data[at:end]
            position = end
    except IndexError:
        raise MalformedFrame("a record ends early") from None
    if position != len(data):
        raise MalformedFrame(f"{len(data) - position} bytes follow the records of a batch")


def _of_old_format(batch: Batch, first_offset: int) -> Iterator[Piece]:
    """Brokers take batches of magic 2 alone."""
    runs: list[tuple[int, int]] = []
    records = []
    for record in read_records(batch):
        if record.offset >= first_offset:
            _add(runs, record.offset)
            record.offset = NO_OFFSET
            records.append(record)
    if records:
        data = build_batch(records, compression=batch.compression)
        yield Piece(bytearray(data), runs, len(records), batch.next_offset)


def _add(runs: list[tuple[int, int]], offset: int) -> None:
    if runs and sum(runs[-1]) == offset:
        runs[-1] = runs[-1][0], runs[-1][1] + 1
    else:
        runs.append((offset, 1))
