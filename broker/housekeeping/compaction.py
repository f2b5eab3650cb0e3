"""Compaction: which log is next says storage's schedule; processes do it, started on demand and ended when they have
been idle; their results are put in place here, in the loop, while the log is in use.

Whoever truncates, deletes or moves a log that may be compacted does it inside `async with compaction.paused(name)`. A
log that is gone all of a sudden, as with a deleted topic, has its compaction cancelled.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import trio

from barnabas.broker.housekeeping.cleaner_process import CleanerProcess
from barnabas.broker.housekeeping.compacting import AtWork, Compacting, CompactionFailed
from barnabas.protocol.errors import KafkaError
from barnabas.replication.partition import Partition
from barnabas.storage.compaction_job import CompactionJob, compaction_job
from barnabas.storage.compaction_plan import CompactionPlan, gather_facts
from barnabas.storage.compaction_schedule import CompactionHealth, CompactionLimits, CompactionSchedule
from barnabas.storage.log_directories import Replica
from barnabas.storage.log_directory import LogDirectory, TopicPartition

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Compaction"]


class Compaction:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._schedule = CompactionSchedule(self._limits())
        self._at_work: dict[TopicPartition, AtWork] = {}
        self._pausing: Counter[TopicPartition] = Counter()
        self._idle: list[tuple[CleanerProcess, int]] = []
        """And since when."""
        self._held_up: set[Partition] = set()
        """The last stable offset has not passed their closed segments."""
        self._checkpointing: dict[LogDirectory, trio.Lock] = {}
        self._rolled_at: dict[Partition, int] = {}
        """Where the active segment began when it was last noticed."""
        self._to_look: dict[Partition, None] = {}
        self._wake = trio.Event()

    def health(self) -> CompactionHealth:
        return self._schedule.health(self._node.clock.now_ms())

    def explain(self, partition: TopicPartition) -> str:
        return self._schedule.explain(partition, self._node.clock.now_ms())

    # Told by others

    def grew(self, partition: Partition) -> None:
        """In the middle of a request: facts are gathered later, and only where there is another segment."""
        if partition.log.active.base_offset != self._rolled_at.get(partition, -1):
            self._rolled_at[partition] = partition.log.active.base_offset
            self._to_look[partition] = None
            self._wake.set()

    def look(self, partition: Partition) -> None:
        """It is here, has another segment, or another configuration."""
        if not partition.log.config.compact and partition.name not in self._schedule:
            return
        replica = self._replica(partition)
        if replica is None:
            return
        plan = self._note(partition, replica)
        if plan.checkpoint_is_wrong:
            self._node.start_soon(self._mend_checkpoint, partition, plan.first_dirty_offset)
        self._wake.set()

    def closed(self, partition: Partition) -> None:
        """It is gone, and its compaction may go on for a moment."""
        self._held_up.discard(partition)
        self._rolled_at.pop(partition, None)
        self._to_look.pop(partition, None)
        work = self._at_work.get(partition.name)
        if work is None:
            self._forget(partition.name)
        elif work.partition is partition:
            self._cancel(partition.name, work)
            self._schedule.resume(partition.name)

    def may_delete(self, partition: Partition) -> bool:
        """Whether retention may take segments from the log's front now; it is told when that changes."""
        return self._schedule.may_delete(partition.name)

    @asynccontextmanager
    async def paused(self, name: TopicPartition) -> AsyncIterator[None]:
        """Inside, nothing of the log is compacted."""
        work = self._at_work.get(name)
        self._pausing[name] += 1
        if self._schedule.pause(name) and work is not None:
            self._cancel(name, work, already_paused=True)
            await work.ended.wait()
        try:
            yield
        finally:
            self._pausing[name] -= 1
            self._schedule.resume(name)
            self._wake.set()

    def _cancel(self, name: TopicPartition, work: AtWork, *, already_paused: bool = False) -> None:
        if not already_paused:
            self._schedule.pause(name)
        if not work.cancelled:
            work.cancelled = True
            if work.process is not None:
                self._node.start_soon(work.process.cancel)

    def _forget(self, name: TopicPartition) -> None:
        """Unless somebody still does something to it."""
        if not self._pausing[name]:
            del self._pausing[name]
            self._schedule.forget(name)

    # Facts

    def _replica(self, partition: Partition) -> Replica | None:
        found = self._node.directories.find(partition.name)
        return found if found is not None and found.log is partition.log else None

    def _note(self, partition: Partition, replica: Replica) -> CompactionPlan:
        checkpoint = replica.directory.compacted.offset(*partition.name)
        facts = gather_facts(partition.log, partition.last_stable.offset, checkpoint)
        if partition.last_stable.offset < partition.log.active.base_offset:
            self._held_up.add(partition)
        else:
            self._held_up.discard(partition)
        return self._schedule.note(partition.name, facts, self._node.clock.now_ms())

    def _limits(self) -> CompactionLimits:
        config = self._node.config
        rate = config.log_cleaner_io_max_bytes_per_second
        return CompactionLimits(
            threads=max(config.log_cleaner_threads, 1),
            dedupe_buffer_bytes=config.log_cleaner_dedupe_buffer_size,
            map_load_factor=config.log_cleaner_io_buffer_load_factor,
            bytes_per_second=None if rate == sys.float_info.max else rate,
        )

    # The duty

    async def run(self) -> None:
        """Until cancelled; then no process of it is left."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._look_after_held_up)
                nursery.start_soon(self._end_idle)
                while True:
                    self._wake = trio.Event()
                    while self._to_look:
                        self.look(self._to_look.popitem()[0])
                        await trio.lowlevel.checkpoint()
                    self._begin_what_is_due(nursery)
                    until_ms = self._schedule.next_look_ms(self._node.clock.now_ms())
                    await self._node.clock.wait(self._wake, until_ms)
        finally:
            with trio.CancelScope(shield=True):
                for process, _ in self._idle:
                    await process.end()
                self._idle = []

    def _begin_what_is_due(self, nursery: trio.Nursery) -> None:
        node = self._node
        if node.config.log_cleaner_threads == 0:
            return
        self._schedule.limits = self._limits()
        while (name := self._schedule.next(node.clock.now_ms())) is not None:
            partition = node.partitions.find(*name)
            replica = self._replica(partition) if partition is not None else None
            if partition is None or replica is None:
                self._forget(name)
                continue
            checkpoint = replica.directory.compacted.offset(*name)
            facts = gather_facts(partition.log, partition.last_stable.offset, checkpoint)
            plan = self._schedule.begin(name, facts, node.clock.now_ms())
            if plan is not None:
                work = self._at_work[name] = AtWork(partition)
                nursery.start_soon(self._compact, work, replica.directory, plan)

    async def _look_after_held_up(self) -> None:
        """Followers, or transactions, may have gone on without a segment more."""
        while True:
            await self._node.clock.sleep(max(self._node.config.log_cleaner_backoff_ms, 1))
            for partition in list(self._held_up):
                self.look(partition)

    async def _end_idle(self) -> None:
        while True:
            limit_ms = self._node.config.barnabas_cleaner_idle_timeout_ms
            await self._node.clock.sleep(max(limit_ms, 1))
            end_ms = self._node.clock.now_ms() - limit_ms
            old, self._idle = [p for p in self._idle if p[1] <= end_ms], [p for p in self._idle if p[1] > end_ms]
            for process, _ in old:
                await process.end()

    # One compaction

    async def _compact(self, work: AtWork, directory: LogDirectory, plan: CompactionPlan) -> None:
        failure = None
        try:
            self.tell_rates()
            clean_offset = await Compacting(self._node, work, directory).run(self._job(work.partition, plan))
            if clean_offset is not None and not work.cancelled:
                await self._write_checkpoint(work.partition, clean_offset)
        except CompactionFailed as error:
            failure = str(error)
        except KafkaError as error:
            failure = f"{work.partition.name}: {error}"
        self._end(work, failure)

    def _job(self, partition: Partition, plan: CompactionPlan) -> CompactionJob:
        limits = self._schedule.limits
        return compaction_job(
            partition.log,
            plan,
            self._node.clock.now_ms(),
            map_bytes=limits.map_bytes,
            map_load_factor=limits.map_load_factor,
        )

    def _end(self, work: AtWork, failure: str | None) -> None:
        partition, schedule, now_ms = work.partition, self._schedule, self._node.clock.now_ms()
        name = partition.name
        del self._at_work[name]
        work.ended.set()
        replica = self._replica(partition)
        if work.cancelled or replica is None:
            schedule.stopped(name)
        elif failure is not None:
            unhealthy = schedule.failed(name, failure, now_ms)
            if unhealthy is not None:
                self._node.warn(f"{failure}; it is tried again in {unhealthy.next_try_ms - now_ms} ms")
        else:
            checkpoint = replica.directory.compacted.offset(*name)
            schedule.finished(name, gather_facts(partition.log, partition.last_stable.offset, checkpoint), now_ms)
        self._look_again(name)
        self.tell_rates()
        self._wake.set()

    def _look_again(self, name: TopicPartition) -> None:
        """Another one may have its name by now."""
        here = self._node.partitions.find(*name)
        if here is None:
            self._forget(name)
        else:
            self.look(here)
            self._node.housekeeping.retention.look_now(here)

    # What a compaction asks for

    def progress(self, work: AtWork, moved_bytes: int) -> None:
        self._schedule.progress(work.partition.name, moved_bytes)

    @property
    def bytes_per_second_each(self) -> float | None:
        return self._schedule.bytes_per_second_each

    def take_process(self) -> CleanerProcess:
        """One that is idle, or a new one that has not been started."""
        while self._idle:
            process, _ = self._idle.pop()
            if process.is_alive:
                return process
        return CleanerProcess()

    def give_back(self, process: CleanerProcess) -> None:
        self._idle.append((process, self._node.clock.now_ms()))

    # Around it

    async def _write_checkpoint(self, partition: Partition, offset: int) -> None:
        """KafkaError if the disk does not take it."""
        replica = self._replica(partition)
        if replica is None:
            return
        directory = replica.directory
        async with self._checkpointing.setdefault(directory, trio.Lock()):
            with self._node.directories.watching(directory):
                await trio.to_thread.run_sync(directory.compacted.set, *partition.name, offset)

    async def _mend_checkpoint(self, partition: Partition, offset: int) -> None:
        with suppress(KafkaError):
            await self._write_checkpoint(partition, offset)

    def tell_rates(self) -> None:
        """Each has its part of what all may move."""
        if self._schedule.limits.bytes_per_second is not None:
            for work in self._at_work.values():
                if work.process is not None:
                    self._node.start_soon(work.process.set_rate, self._schedule.bytes_per_second_each)
