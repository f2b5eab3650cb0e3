"""Which part of a log may be compacted, and whether it is worth it: Kafka's rules, from facts to a plan.

A log is clean up to the offset that was checkpointed after the last compaction, and dirty from there on. What may be
compacted ends with the segment before the one that is appended to, that holds the last stable offset, or that has a
record younger than min.compaction.lag.ms. It is due when more of it is dirty than min.cleanable.dirty.ratio says, or
when a dirty record is older than max.compaction.lag.ms.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.storage.log import Log
from barnabas.storage.topic_config import FOREVER, TopicConfig

__all__ = ["CompactionPlan", "LogFacts", "SegmentFacts", "gather_facts", "plan_compaction"]


class SegmentFacts(NamedTuple):
    base_offset: int
    size: int
    largest_timestamp: int = -1
    """Asked for only where the topic has a min.compaction.lag.ms."""
    first_timestamp: int = -1
    """Asked for only where the topic has a max.compaction.lag.ms; -1 without a batch that has a time."""


@dataclass(frozen=True, slots=True)
class LogFacts:
    name: str
    config: TopicConfig
    start_offset: int
    end_offset: int
    last_stable_offset: int
    checkpoint: int | None
    """Up to where the log was clean; None if it never was compacted."""
    segments: tuple[SegmentFacts, ...]
    """The last one is being appended to."""


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    first_dirty_offset: int
    end_offset: int
    """Where the first segment begins that may not be compacted."""
    clean_bytes: int
    dirty_bytes: int
    due: bool
    overdue: bool
    """Due by max.compaction.lag.ms, however little of it is dirty."""
    explain: str
    """Why it is due or not, for people."""
    checkpoint_is_wrong: bool
    """The first dirty offset has to be checkpointed now: the log does not reach to the one that was."""
    due_ms: int | None
    """When it may become due by time alone, if nothing is appended; None if it never does, or is due already."""

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0


def gather_facts(log: Log, last_stable_offset: int, checkpoint: int | None) -> LogFacts:
    """What the plan needs. Times are looked up in the segments only where the topic's configuration asks for them."""
    config = log.config
    by_largest = config.min_compaction_lag_ms > 0
    by_first = config.max_compaction_lag_ms < FOREVER
    segments = []
    for number, segment in enumerate(log.segments):
        closed = number + 1 < len(log.segments)
        largest = segment.largest_timestamp if by_largest and closed else -1
        first = segment.first_timestamp if by_first and closed else None
        segments.append(SegmentFacts(segment.base_offset, segment.size, largest, -1 if first is None else first))
    return LogFacts(
        log.directory.name,
        config,
        log.start_offset,
        log.end_offset,
        last_stable_offset,
        checkpoint,
        tuple(segments),
    )


def plan_compaction(facts: LogFacts, now_ms: int) -> CompactionPlan:
    first_dirty, checkpoint_is_wrong, note = _first_dirty_offset(facts)
    end, held_by, lag_ends_ms = _end(facts, first_dirty, now_ms)
    clean = sum(segment.size for segment in facts.segments if segment.base_offset < first_dirty)
    dirty = sum(segment.size for segment in _between(facts, min(first_dirty, end), end))
    overdue_from_ms = _overdue_from_ms(facts, first_dirty)
    overdue_ms = now_ms - overdue_from_ms if overdue_from_ms is not None else 0
    due, why = _judge(facts.config, clean, dirty, overdue_ms)
    if clean and not dirty:
        why = f"{why} before {held_by}"
    elif dirty:
        why = f"{why}; offsets {first_dirty} to {end} are dirty, up to {held_by}"
    # What is exactly as old as it may be is not overdue yet.
    later = [at for at in (lag_ends_ms, None if overdue_from_ms is None else overdue_from_ms + 1) if at is not None]
    return CompactionPlan(
        first_dirty_offset=first_dirty,
        end_offset=end,
        clean_bytes=clean,
        dirty_bytes=dirty,
        due=due,
        overdue=due and overdue_ms > 0,
        explain=f"{facts.name}: {note}{why}",
        checkpoint_is_wrong=checkpoint_is_wrong,
        due_ms=None if due or not facts.config.compact else min((at for at in later if at > now_ms), default=None),
    )


def _judge(config: TopicConfig, clean: int, dirty: int, overdue_ms: int) -> tuple[bool, str]:
    if not config.compact:
        return False, f"not due: cleanup.policy={','.join(config.cleanup_policy)} does not compact"
    if not dirty:
        return False, "not due: nothing is dirty"
    ratio = dirty / (clean + dirty)
    limit = config.min_cleanable_dirty_ratio
    share = f"{ratio:.0%} of {clean + dirty} bytes are dirty"
    if overdue_ms > 0:
        return True, f"due: {share}, some for {overdue_ms} ms longer than max.compaction.lag.ms"
    if ratio > limit:
        return True, f"due: {share}, more than min.cleanable.dirty.ratio={limit}"
    return False, f"not due: {share}, not more than min.cleanable.dirty.ratio={limit}"


def _first_dirty_offset(facts: LogFacts) -> tuple[int, bool, str]:
    start = facts.start_offset
    if facts.checkpoint is None:
        return start, False, ""
    if facts.checkpoint < start:
        note = f"it was clean up to {facts.checkpoint} and begins at {start} by now; "
        return start, True, note
    if facts.checkpoint > facts.end_offset:
        note = f"it was clean up to {facts.checkpoint} and ends at {facts.end_offset}: it is taken for dirty; "
        return start, True, note
    return facts.checkpoint, False, ""


def _end(facts: LogFacts, first_dirty: int, now_ms: int) -> tuple[int, str, int | None]:
    """Where what may be compacted ends, why there, and when it will not end there any more by time alone."""
    active = facts.segments[-1].base_offset
    bounds = [(facts.last_stable_offset, 1, f"the last stable offset {facts.last_stable_offset}")]
    bounds.append((active, 0, f"the segment at {active} that is appended to"))
    lag_ends_ms = None
    lag_ms = facts.config.min_compaction_lag_ms
    if lag_ms > 0:
        for segment in _closed_from(facts, first_dirty):
            rest_ms = segment.largest_timestamp - (now_ms - lag_ms)
            if rest_ms > 0:
                lag_ends_ms = now_ms + rest_ms
                why = f"the segment at {segment.base_offset}, which is within min.compaction.lag.ms for {rest_ms} ms"
                bounds.append((segment.base_offset, 2, why))
                break
    bound, _, why = min(bounds)
    following = _closed_from(facts, max(first_dirty, bound))
    return (following[0].base_offset if following else active), why, lag_ends_ms


def _overdue_from_ms(facts: LogFacts, first_dirty: int) -> int | None:
    """Behind which moment a dirty record is older than max.compaction.lag.ms. As in Kafka, the first batch of each
    segment is asked, also where the first segment's is clean."""
    lag_ms = facts.config.max_compaction_lag_ms
    times = [segment.first_timestamp for segment in _closed_from(facts, first_dirty) if segment.first_timestamp > 0]
    return min(times) + lag_ms if times and lag_ms < FOREVER else None


def _closed_from(facts: LogFacts, offset: int) -> tuple[SegmentFacts, ...]:
    """The closed segments from the one that holds the offset on."""
    active = facts.segments[-1].base_offset
    return _between(facts, offset, active) if offset <= active else ()


def _between(facts: LogFacts, offset: int, end: int) -> tuple[SegmentFacts, ...]:
    """Segments from the one that holds `offset` on that begin before `end`; none if the two are the same."""
    if offset == end:
        return ()
    first = max(bisect_right(facts.segments, offset, key=lambda segment: segment.base_offset) - 1, 0)
    return tuple(segment for segment in facts.segments[first:] if segment.base_offset < end)
