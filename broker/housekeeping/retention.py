"""Retention: segments go at the moment they become due, by age, by the log's size, or by where the log begins.

What is too old already when it is produced is kept for log.retention.check.interval.ms, as long as Kafka's sweep would
keep it at the most: whoever produces records of last year wants to see them. So is the active segment where it is due
by its size. After a start, nothing is deleted before log.initial.task.delay.ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from barnabas.broker.housekeeping.deadlines import Deadlines
from barnabas.replication.partition import Partition
from barnabas.storage.log import Log
from barnabas.storage.retention import Verdict, delete_due, first_due_ms

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["NEVER", "Retention"]

NEVER = 2**63 - 1
"""A size that no segment reaches."""

SEGMENTS_AT_ONCE = 32
"""Each is renamed, four files; then others get their turn."""


class Retention:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._deadlines: Deadlines[Partition] = Deadlines(node.clock)

    # Told by others

    def opened(self, partition: Partition) -> None:
        if partition.log.end_offset > partition.log.segments[0].base_offset:
            delay_ms = self._node.config.log_initial_task_delay_ms
            self._deadlines.set(partition, self._node.clock.now_ms() + delay_ms)

    def closed(self, partition: Partition) -> None:
        self._deadlines.forget(partition)

    def look_now(self, partition: Partition) -> None:
        """Its configuration is another, or what it waited for has ended."""
        self._deadlines.set(partition, self._node.clock.now_ms())

    def grew(self, partition: Partition) -> int:
        """The size of the active segment at which to ask again."""
        log, now_ms = partition.log, self._node.clock.now_ms()
        if _begins_behind_first_segment(log):
            self._deadlines.set_earlier(partition, now_ms)
        if partition not in self._deadlines:
            self._set_by_age(partition, now_ms)
        return self._look_by_size(partition, now_ms)

    def _set_by_age(self, partition: Partition, now_ms: int) -> None:
        due_ms = first_due_ms(partition.log)
        if due_ms is not None:
            self._deadlines.set(partition, due_ms if due_ms > now_ms else now_ms + self._grace_ms)

    def _look_by_size(self, partition: Partition, now_ms: int) -> int:
        log = partition.log
        limit = log.config.retention_bytes
        if limit < 0 or not log.config.delete:
            return NEVER
        first, active = log.segments[0], log.active
        missing = limit + first.size - log.size
        if missing > 0:
            return active.size + missing
        self._deadlines.set_earlier(partition, now_ms if first is not active else now_ms + self._grace_ms)
        # It is in hand, or waits for followers or a compaction.
        return NEVER

    @property
    def _grace_ms(self) -> int:
        return self._node.config.log_retention_check_interval_ms

    # The duty

    async def run(self) -> None:
        while True:
            for partition in await self._deadlines.next_due():
                self._look(partition)
                await trio.lowlevel.checkpoint()

    def _look(self, partition: Partition) -> None:
        node = self._node
        replica = node.directories.find(partition.name)
        if replica is None or replica.log is not partition.log:
            return
        now_ms = node.clock.now_ms()
        deleted: list[Verdict] = []
        if node.housekeeping.may_delete(partition):
            with node.directories.surviving(replica.directory):
                deleted = delete_due(partition.log, partition.high_watermark.offset, now_ms, most=SEGMENTS_AT_ONCE)
        if deleted:
            self._tell(partition, deleted)
        self._look_again(partition, now_ms, more=len(deleted) == SEGMENTS_AT_ONCE)

    def _tell(self, partition: Partition, deleted: list[Verdict]) -> None:
        partition.start_moved()
        self._node.housekeeping.removal.take(partition.log)
        count = f"{len(deleted)} segments" if len(deleted) > 1 else "a segment"
        self._node.report(
            f"{partition.name}: {count} deleted, it begins at offset {partition.log.start_offset}: {deleted[0].reason}"
        )

    def _look_again(self, partition: Partition, now_ms: int, *, more: bool) -> None:
        if more:
            self._deadlines.set(partition, now_ms)
            return
        log = partition.log
        if log.size:
            # What is due and still here waits for followers, or for a compaction.
            self._set_by_age(partition, now_ms)
            if _begins_behind_first_segment(log):
                self._deadlines.set_earlier(partition, now_ms + self._grace_ms)
        excess = log.size - log.segments[0].size >= log.config.retention_bytes >= 0 and log.config.delete
        if excess and log.size:
            self._deadlines.set_earlier(partition, now_ms + self._grace_ms)
        partition.look_at_size = 0


def _begins_behind_first_segment(log: Log) -> bool:
    return len(log.segments) > 1 and log.segments[1].base_offset <= log.start_offset
