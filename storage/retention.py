"""Which segments may go, which stay, and until when: Kafka's retention by time, by size and by start offset.

Segments go from the front only, whole, and never one that reaches to the high watermark or beyond. Kafka looks every
five minutes; here `Verdict.due_ms` says at which moment to look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from barnabas.storage.log import Log
from barnabas.storage.segment import Segment

__all__ = ["Verdict", "delete_due", "explain", "first_due_ms"]


class Verdict(NamedTuple):
    """What retention says of one segment."""

    segment: Segment
    due: bool
    reason: str
    """Why it goes or stays, for people."""
    due_ms: int | None
    """When it becomes due by its age alone, if nothing is appended; None if it never does."""


def explain(log: Log, high_watermark: int, now_ms: int) -> list[Verdict]:
    """A verdict for each segment, from the oldest on."""
    return list(_verdicts(log, high_watermark, now_ms))


def _verdicts(log: Log, high_watermark: int, now_ms: int) -> Iterator[Verdict]:
    """No segment is looked at before its verdict is asked for."""
    blocked = ""
    excess = log.size - log.config.retention_bytes if _by_size(log) else -1
    for number, segment in enumerate(list(log.segments)):
        is_last = number + 1 == len(log.segments)
        end = log.end_offset if is_last else log.segments[number + 1].base_offset
        due_ms = _due_ms(log, segment)
        due, reason = _judge(log, segment, end, is_last, excess, due_ms, now_ms)
        if due and end > high_watermark:
            due, reason = False, f"{reason}, but it reaches offset {end}, and the high watermark is {high_watermark}"
        if due and is_last and segment.size == 0:
            due, reason = False, "it is empty, and the log has no other"
        if due and blocked:
            due, reason = False, f"{reason}, but it waits for the segment at offset {blocked}"
        if not due:
            blocked = blocked or str(segment.base_offset)
        excess -= segment.size
        yield Verdict(segment, due, reason, due_ms)


def _judge(
    log: Log, segment: Segment, end: int, is_last: bool, excess: int, due_ms: int | None, now_ms: int
) -> tuple[bool, str]:
    if not is_last and end <= log.start_offset:
        return True, f"all its records lie before the log's start at offset {log.start_offset}"
    if excess >= segment.size:
        return True, f"the log would still have retention.bytes={log.config.retention_bytes} without it"
    if due_ms is not None:
        past = now_ms - due_ms
        if past >= 0:
            return True, f"its latest record is {past} ms past retention.ms={log.config.retention_ms}"
        return False, f"its latest record is within retention.ms={log.config.retention_ms} for {-past} ms"
    if not log.config.delete:
        return False, f"cleanup.policy={','.join(log.config.cleanup_policy)} deletes nothing by age or size"
    return False, "the log's size and age are not limited" if not _by_size(log) else "the log is not too large"


def _by_size(log: Log) -> bool:
    return log.config.delete and 0 <= log.config.retention_bytes <= log.size


def _due_ms(log: Log, segment: Segment) -> int | None:
    """Kafka deletes what is older than retention.ms, not what has just reached it."""
    if not log.config.delete or log.config.retention_ms < 0:
        return None
    return segment.largest_timestamp + log.config.retention_ms + 1


def delete_due(log: Log, high_watermark: int, now_ms: int, *, most: int | None = None) -> list[Verdict]:
    """Take what is due out of the log, so many segments at most; the files wait in `log.removed`. A log always has one
    segment left: where all are due, the last one is followed by an empty one first."""
    due = list(islice(_leading_due(_verdicts(log, high_watermark, now_ms)), most))
    if due:
        if len(due) == len(log.segments):
            log.roll(now_ms)
        log.delete_segments([verdict.segment for verdict in due])
        log.advance_start(max(log.start_offset, log.segments[0].base_offset))
    return due


def first_due_ms(log: Log) -> int | None:
    """When the oldest segment becomes due by its age, if nothing is appended to it; None if it never does."""
    return _due_ms(log, log.segments[0])


def _leading_due(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    for verdict in verdicts:
        if not verdict.due:
            return
        yield verdict
