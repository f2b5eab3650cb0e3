"""Which log is compacted next, which may not be now, and which could not be and why.

    schedule.note(partition, gather_facts(...), now_ms)      when a log is there, has rolled, has another configuration,
                                                             or its last stable offset has passed into another segment
    partition = schedule.next(now_ms)                        whenever one of these calls returned, and at `next_look_ms`
    plan = schedule.begin(partition, gather_facts(...), now_ms)
    schedule.progress(...), and in the end .finished(...), .failed(...) or .stopped(...)

It only keeps count: whoever has the processes and the clock starts workers, carries results, and waits. Kafka looks at
all logs every 15 s; here nothing is looked at again before it can have changed.

A log that could not be compacted is tried again, later each time, and `health` shows it until it succeeds. (Kafka marks
such a partition uncleanable until the broker is started again, and `__consumer_offsets` grows on.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.storage.compaction_job import DEDUPE_BUFFER_BYTES, DEDUPE_BUFFER_LOAD_FACTOR
from barnabas.storage.compaction_plan import CompactionPlan, LogFacts, plan_compaction
from barnabas.storage.log_directory import TopicPartition

__all__ = [
    "FIRST_RETRY_MS",
    "LONGEST_RETRY_MS",
    "AtWork",
    "CompactionHealth",
    "CompactionLimits",
    "CompactionSchedule",
    "Unhealthy",
    "retry_after_ms",
]

FIRST_RETRY_MS = 15_000
"""As long as Kafka's cleaner waits before it looks again."""

LONGEST_RETRY_MS = 600_000

_LARGEST_MAP_BYTES = 2**31 - 1


@dataclass(frozen=True, slots=True)
class CompactionLimits:
    """Of all compactions of a node together. The defaults are Kafka's."""

    threads: int = 1
    """log.cleaner.threads: how many compactions go on at once."""
    dedupe_buffer_bytes: int = DEDUPE_BUFFER_BYTES
    map_load_factor: float = DEDUPE_BUFFER_LOAD_FACTOR
    bytes_per_second: float | None = None
    """log.cleaner.io.max.bytes.per.second"""

    @property
    def map_bytes(self) -> int:
        """For one compaction; as in Kafka, also where the others are idle."""
        return min(self.dedupe_buffer_bytes // self.threads, _LARGEST_MAP_BYTES)


class AtWork(NamedTuple):
    """A compaction that goes on."""

    partition: TopicPartition
    since_ms: int
    plan: CompactionPlan
    cancelled: bool = False
    moved_bytes: int = 0


class Unhealthy(NamedTuple):
    """A log that could not be compacted."""

    partition: TopicPartition
    reason: str
    """Of the last failure."""
    failures: int
    """How many there have been, one after the other."""
    first_ms: int
    last_ms: int
    next_try_ms: int
    dirty_bytes: int
    """What waits to be compacted."""


@dataclass(frozen=True, slots=True)
class CompactionHealth:
    at_work: tuple[AtWork, ...]
    unhealthy: tuple[Unhealthy, ...]
    paused: tuple[TopicPartition, ...]
    waiting: tuple[TopicPartition, ...]
    """Those that are due and will be compacted as soon as others are done, the next one first."""
    max_dirty_percent: int
    """Kafka's max-dirty-percent: of the dirtiest log that is not being compacted."""
    last_look_ms: int | None
    """When somebody last asked what is next."""


def retry_after_ms(failures: int) -> int:
    return min(FIRST_RETRY_MS << min(failures - 1, 30), LONGEST_RETRY_MS)


class CompactionSchedule:
    def __init__(self, limits: CompactionLimits) -> None:
        self.limits = limits
        """May be replaced at any time, and holds for what begins then; `bytes_per_second_each` holds at once."""
        self._facts: dict[TopicPartition, LogFacts] = {}
        self._plans: dict[TopicPartition, CompactionPlan] = {}
        self._at_work: dict[TopicPartition, AtWork] = {}
        self._unhealthy: dict[TopicPartition, Unhealthy] = {}
        self._pauses: dict[TopicPartition, int] = {}
        self._last_look_ms: int | None = None

    # What is known of the logs

    def note(self, partition: TopicPartition, facts: LogFacts, now_ms: int) -> CompactionPlan:
        """Where the plan says that the checkpoint is wrong, it has to be written."""
        self._facts[partition] = facts
        plan = self._plans[partition] = plan_compaction(facts, now_ms)
        return plan

    def __contains__(self, partition: TopicPartition) -> bool:
        return partition in self._facts

    def forget(self, partition: TopicPartition) -> None:
        """It is gone, or another node's. What is compacting it has been stopped."""
        assert partition not in self._at_work, f"{partition} is still being compacted"
        for each in (self._facts, self._plans, self._unhealthy, self._pauses):
            each.pop(partition, None)

    def _plan(self, partition: TopicPartition, now_ms: int) -> CompactionPlan:
        """Made again only when time has changed it."""
        plan = self._plans[partition]
        if plan.due_ms is not None and plan.due_ms <= now_ms:
            plan = self._plans[partition] = plan_compaction(self._facts[partition], now_ms)
        return plan

    # What to do

    def next(self, now_ms: int) -> TopicPartition | None:
        """The log to compact now: one with records that are overdue before any other, and the dirtiest of those. None
        where there is none, or as many are being compacted as may be."""
        self._last_look_ms = now_ms
        if len(self._at_work) >= self.limits.threads:
            return None
        due = self._waiting(now_ms)
        return max(due, key=lambda partition: _urgency(self._plans[partition]), default=None)

    def _waiting(self, now_ms: int) -> Iterator[TopicPartition]:
        for partition in self._plans:
            if self._may_begin(partition, now_ms) and self._plan(partition, now_ms).due:
                yield partition

    def _may_begin(self, partition: TopicPartition, now_ms: int) -> bool:
        unhealthy = self._unhealthy.get(partition)
        return (
            partition not in self._at_work
            and partition not in self._pauses
            and (unhealthy is None or unhealthy.next_try_ms <= now_ms)
        )

    def begin(self, partition: TopicPartition, facts: LogFacts, now_ms: int) -> CompactionPlan | None:
        """The plan for a job, by facts as they are now; None if it is not due by these."""
        assert self._may_begin(partition, now_ms), f"{partition} may not be compacted now"
        plan = self.note(partition, facts, now_ms)
        if not plan.due:
            return None
        self._at_work[partition] = AtWork(partition, now_ms, plan)
        return plan

    def next_look_ms(self, now_ms: int) -> int | None:
        """When `next` may have an answer by time alone; None if only by what somebody does."""
        if len(self._at_work) >= self.limits.threads:
            return None
        moments = []
        for partition in self._plans:
            if partition in self._at_work or partition in self._pauses:
                continue
            plan = self._plan(partition, now_ms)
            due_ms = now_ms if plan.due else plan.due_ms
            if due_ms is not None:
                unhealthy = self._unhealthy.get(partition)
                moments.append(max(due_ms, unhealthy.next_try_ms if unhealthy else due_ms))
        return min(moments, default=None)

    @property
    def bytes_per_second_each(self) -> float | None:
        """What every compaction that goes on may move now. All are told when one begins or ends."""
        limit = self.limits.bytes_per_second
        return None if limit is None else limit / max(len(self._at_work), 1)

    # What became of it

    def progress(self, partition: TopicPartition, moved_bytes: int) -> None:
        self._at_work[partition] = self._at_work[partition]._replace(moved_bytes=moved_bytes)

    def finished(self, partition: TopicPartition, facts: LogFacts, now_ms: int) -> CompactionPlan:
        """All its results have been swapped in, and the checkpoint is written; `facts` are those of the log now."""
        work = self._at_work[partition]
        plan = self.note(partition, facts, now_ms)
        if plan.due and plan.first_dirty_offset == work.plan.first_dirty_offset:
            # It would be compacted again and again.
            self.failed(partition, f"{facts.name} was compacted and is as dirty as before, which is a bug", now_ms)
            return plan
        del self._at_work[partition]
        self._unhealthy.pop(partition, None)
        return plan

    def failed(self, partition: TopicPartition, reason: str, now_ms: int) -> Unhealthy | None:
        """By its own fault; also where the process died. None if it had been cancelled: then it is no failure that a
        log was missing which somebody has taken away."""
        work = self._at_work.pop(partition)
        if work.cancelled:
            return None
        before = self._unhealthy.get(partition)
        failures = before.failures + 1 if before else 1
        self._unhealthy[partition] = unhealthy = Unhealthy(
            partition,
            reason,
            failures,
            before.first_ms if before else now_ms,
            now_ms,
            now_ms + retry_after_ms(failures),
            self._plans[partition].dirty_bytes,
        )
        return unhealthy

    def stopped(self, partition: TopicPartition) -> None:
        """Because somebody wanted it."""
        del self._at_work[partition]

    # What has to wait for one another

    def pause(self, partition: TopicPartition) -> bool:
        """Before a log is truncated, deleted or moved: begin no compaction until as many calls of `resume`. True if one
        is going on: it is to be cancelled, and the log is not touched before that has ended."""
        self._pauses[partition] = self._pauses.get(partition, 0) + 1
        work = self._at_work.get(partition)
        if work is not None:
            self._at_work[partition] = work._replace(cancelled=True)
        return work is not None

    def resume(self, partition: TopicPartition) -> None:
        assert self._pauses.get(partition), f"{partition} is not paused"
        self._pauses[partition] -= 1
        if not self._pauses[partition]:
            del self._pauses[partition]

    def may_delete(self, partition: TopicPartition) -> bool:
        """Whether retention may take segments from the log's front now. Under a compaction it would make its results
        worthless; so it waits for the end, as in Kafka. It does not wait for a log that is unhealthy, as Kafka's does:
        of `compact,delete` what is too old goes all the same."""
        return partition not in self._at_work

    # For people

    def health(self, now_ms: int) -> CompactionHealth:
        waiting = sorted(self._waiting(now_ms), key=lambda one: _urgency(self._plans[one]), reverse=True)
        ratios = [
            self._plan(partition, now_ms).dirty_ratio
            for partition, facts in self._facts.items()
            if facts.config.compact and partition not in self._at_work
        ]
        unhealthy = (
            each._replace(dirty_bytes=self._plans[partition].dirty_bytes) for partition, each in self._unhealthy.items()
        )
        return CompactionHealth(
            at_work=tuple(self._at_work.values()),
            unhealthy=tuple(sorted(unhealthy)),
            paused=tuple(sorted(self._pauses)),
            waiting=tuple(waiting),
            max_dirty_percent=int(100 * max(ratios, default=0)),
            last_look_ms=self._last_look_ms,
        )

    def explain(self, partition: TopicPartition, now_ms: int) -> str:
        """One line about one log."""
        if partition not in self._plans:
            return f"{partition}: no such log is here"
        said = self._plan(partition, now_ms).explain
        work = self._at_work.get(partition)
        if work is not None:
            ending = ", and is to stop" if work.cancelled else ""
            so_far = f"for {now_ms - work.since_ms} ms, {work.moved_bytes} bytes moved"
            return f"{partition}: is being compacted {so_far}{ending}"
        if partition in self._pauses:
            said += "; paused, because it is being truncated, deleted or moved"
        unhealthy = self._unhealthy.get(partition)
        if unhealthy is not None:
            rest_ms = max(unhealthy.next_try_ms - now_ms, 0)
            times = "once" if unhealthy.failures == 1 else f"{unhealthy.failures} times"
            said += f"; failed {times}, next try in {rest_ms} ms: {unhealthy.reason}"
        return said


def _urgency(plan: CompactionPlan) -> tuple[bool, float]:
    return plan.overdue, plan.dirty_ratio
