"""One compaction, from its job to the last result put in place, by a process, or for logs in memory right here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from barnabas.broker.housekeeping.cleaner_process import CleanerDied, CleanerProcess
from barnabas.protocol.errors import KafkaError
from barnabas.replication.partition import Partition
from barnabas.storage.compaction import compact
from barnabas.storage.compaction_job import CleanedSegment, CompactionJob
from barnabas.storage.compaction_messages import Cancelled, Cleaned, Continue, Done, Failed, Progress
from barnabas.storage.compaction_swap import StaleCompaction, discard, swap_steps
from barnabas.storage.durability import Durability
from barnabas.storage.log_directory import LogDirectory

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["AtWork", "Compacting", "CompactionFailed"]


class CompactionFailed(Exception):  # noqa: N818 - a state of the log
    """One sentence about the log and what was wrong."""


class AtWork:
    """A compaction that goes on."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.process: CleanerProcess | None = None
        self.cancelled = False
        self.ended = trio.Event()


class Compacting:
    def __init__(self, node: Node, work: AtWork, directory: LogDirectory) -> None:
        assert node.housekeeping.compaction is not None
        self._owner = node.housekeeping.compaction
        self._node = node
        self._work = work
        self._directory = directory
        self._clean_offset: int | None = None

    async def run(self, job: CompactionJob) -> int | None:
        """Up to where the log is clean then; None if it was cancelled. CompactionFailed."""
        try:
            if self._node.durability is Durability.MEMORY:
                await self._compact_here(job)
            else:
                await self._compact_in_process(job)
        except StaleCompaction as error:
            raise CompactionFailed(str(error)) from None
        except CleanerDied as error:
            raise CompactionFailed(f"{self._work.partition.name}: compaction ended early: {error}") from None
        except OSError as error:
            what = error.strerror or error
            raise CompactionFailed(f"{self._work.partition.name}: compaction cannot begin: {what}") from None
        return None if self._work.cancelled else self._clean_offset

    async def _compact_in_process(self, job: CompactionJob) -> None:
        process = self._owner.take_process()
        try:
            if not process.is_alive:
                await process.start()
            self._work.process = process
            await process.begin(job, self._owner.bytes_per_second_each)
            if self._work.cancelled:
                await process.cancel()
            failure = await self._follow(process, job)
        except BaseException:
            await process.end()
            raise
        self._owner.give_back(process)
        if failure is not None:
            raise CompactionFailed(failure)

    async def _follow(self, process: CleanerProcess, job: CompactionJob) -> str | None:
        """Until the job has ended; why it failed, if the process says so."""
        while True:
            match await process.next():
                case Progress(moved_bytes):
                    self._owner.progress(self._work, moved_bytes)
                case Cleaned(cleaned) if self._work.cancelled:
                    await trio.to_thread.run_sync(discard, self._node.disk, job, cleaned)
                case Cleaned(cleaned):
                    await self._swap(job, cleaned)
                    await process.send(Continue())
                case Done() | Cancelled():
                    return None
                case Failed(_, reason):
                    return reason
                case other:
                    raise CleanerDied(f"its process said {type(other).__name__}")

    async def _swap(self, job: CompactionJob, cleaned: CleanedSegment) -> None:
        """To its end, also where somebody cancels meanwhile."""
        log = self._work.partition.log
        try:
            with trio.CancelScope(shield=True):
                for sync in swap_steps(log, job, cleaned):
                    await trio.to_thread.run_sync(sync)
        except (KafkaError, OSError) as error:
            # Where the partition was deleted meanwhile, there is nothing to be made whole any more.
            if self._directory.logs.get(self._work.partition.name) is log:
                # Half of a result is in place: only opening the log again makes that whole.
                self._node.directories.take_offline(self._directory.path, str(error))
            raise CompactionFailed(str(error)) from None
        self._node.housekeeping.removal.take(log)
        self._clean_offset = cleaned.clean_offset

    async def _compact_here(self, job: CompactionJob) -> None:
        """A log in memory, which no other process has and no thread may touch."""
        log = self._work.partition.log
        for cleaned in compact(job, self._node.disk):
            if self._work.cancelled:
                discard(self._node.disk, job, cleaned)
                return
            for _ in swap_steps(log, job, cleaned):
                pass
            self._node.housekeeping.removal.take(log)
            self._clean_offset = cleaned.clean_offset
            await trio.lowlevel.checkpoint()
