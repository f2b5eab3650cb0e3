"""A copy of a log in another directory of the node: filling it step by step while the log is being written to.

Each step takes as long as its bytes; between steps anything may happen to the log.
"""

from __future__ import annotations

from pathlib import Path

from barnabas.protocol.batches import iterate_batches
from barnabas.storage.log import Log

__all__ = ["copy_some", "is_caught_up", "relocate"]


def copy_some(current: Log, future: Log, max_bytes: int, now_ms: int) -> int:
    """Take over what the copy lacks, one batch at least and about `max_bytes`, and say how many bytes that was: none
    when there is nothing left. What the copy has and the log has lost since is cut off first."""
    if future.start_offset > current.start_offset:
        future.truncate_fully_and_start_at(current.start_offset, now_ms)
    future.truncate_to(_common_end(current, future), now_ms)
    offset = max(future.end_offset, current.start_offset)
    records = current.read(offset, min(max_bytes, future.config.roll_bytes)).read()
    batches = list(iterate_batches(records))
    # The first batch may begin before the log does, or before what was cut off.
    start = batches[0].base_offset if batches else current.start_offset
    if future.end_offset < current.start_offset or start < future.start_offset:
        future.truncate_fully_and_start_at(start, now_ms)
    if batches:
        future.truncate_to(start, now_ms)
        future.append_as_follower(records, now_ms)
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
