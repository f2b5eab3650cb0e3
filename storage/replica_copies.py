"""A copy of a log in another directory of the node: filling it step by step while the log is being written to.

Each step takes as long as its bytes; between steps anything may happen to the log. What reads the log and what writes
the copy are apart, since it may be the one's disk that fails, or the other's.
"""

from __future__ import annotations

from pathlib import Path

from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.storage.log import Log

__all__ = ["copy_some", "cut_what_is_gone", "is_caught_up", "read_what_lacks", "relocate", "take_over"]


def copy_some(current: Log, future: Log, max_bytes: int, now_ms: int) -> int:
    """Take over what the copy lacks, one batch at least and about `max_bytes`, and say how many bytes that was: none
    when there is nothing left."""
    cut_what_is_gone(current, future, now_ms)
    return take_over(current, future, read_what_lacks(current, future, max_bytes), now_ms)


def cut_what_is_gone(current: Log, future: Log, now_ms: int) -> None:
    """What the copy has and the log has lost since."""
    if future.start_offset > current.start_offset:
        future.truncate_fully_and_start_at(current.start_offset, now_ms)
    future.truncate_to(_common_end(current, future), now_ms)


def read_what_lacks(current: Log, future: Log, max_bytes: int) -> list[Batch]:
    """KafkaError if the log cannot be read, or what is there is none."""
    offset = max(future.end_offset, current.start_offset)
    try:
        records = current.read(offset, min(max_bytes, future.config.roll_bytes)).read()
        return list(iterate_batches(records))
    except MalformedFrame as error:
        why = f"{current.directory} is damaged at offset {offset} or soon after: {error}"
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, why) from error


def take_over(current: Log, future: Log, batches: list[Batch], now_ms: int) -> int:
    """What was read, and how far the log has come."""
    # The first batch may begin before the log does, or before what was cut off.
    start = batches[0].base_offset if batches else current.start_offset
    if future.end_offset < current.start_offset or start < future.start_offset:
        future.truncate_fully_and_start_at(start, now_ms)
    if batches:
        future.truncate_to(start, now_ms)
        future.append_as_follower(batches[0].buffer, now_ms)
    elif future.end_offset < current.end_offset:
        # What was between has been deleted or compacted away, and its offsets must not be given again.
        future.roll(now_ms, current.end_offset)
        future.end_offset = current.end_offset
    future.advance_start(min(current.start_offset, future.end_offset))
    return sum(batch.size for batch in batches)


def is_caught_up(current: Log, future: Log) -> bool:
    return future.end_offset == current.end_offset == _common_end(current, future)


def _common_end(current: Log, future: Log) -> int:
    """Up to where both hold the same, as a follower finds it out: logs that have an epoch in common are equal up to the
    end of the latest such. An epoch that only one of them has says nothing if a later one is in both, for compaction
    may have taken all of its records before they were copied."""
    end = min(current.end_offset, future.end_offset)
    for entry in reversed(future.epochs.entries):
        if entry.start_offset >= end:
            continue
        if current.epochs.entry(entry.epoch) is not None:
            following = current.epochs.next(entry.epoch)
            return min(end, following.start_offset) if following is not None else end
        end = entry.start_offset
    return end


def relocate(log: Log, directory: Path) -> None:
    """An open log follows its directory, which has another name now. Open files need not be told."""
    log.directory = log.producers.snapshots.directory = directory
    for segment in [*log.segments, *log.removed]:
        segment.directory = directory
        for index in (segment.offset_index, segment.time_index, segment.transaction_index):
            index.path = directory / index.path.name
