"""Loading at start: logs of a clean stop are opened and not read, those of a crash are checked from their recovery
point on, by several processes where that is worth it.

All of it happens in threads or processes, so that the loop has time for others, and says how far it has come.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import trio

from barnabas.broker.housekeeping.recovery_process import RecoveryProcess
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.schema import Uuid
from barnabas.replication.partition import Partition
from barnabas.storage.durability import Durability
from barnabas.storage.load_plan import LoadPlan, Piece, Progress
from barnabas.storage.recovery_worker import RecoveredPartition, RecoveryFailed
from barnabas.storage.replica_moves import promote_abandoned
from barnabas.storage.topic_config import TopicConfig

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["load_logs", "until_safe"]

_SLICE_S = 0.1
"""A thread loads for so long before it is asked how far it has come."""


async def load_logs(node: Node) -> None:
    """Everything in the node's directories that the metadata knows."""
    directories = node.directories

    def assigned(topic_id: Uuid, number: int) -> Uuid | None:
        state = node.image.topics.partition(topic_id, number)
        if state is None or node.node_id not in state.replicas:
            return None
        return state.directory(node.node_id)

    names = node.unique_names()
    await trio.to_thread.run_sync(directories.set_aside_strays, assigned, names)
    plan = await trio.to_thread.run_sync(directories.plan_loading)
    await _Loading(node, plan).run()
    await trio.to_thread.run_sync(promote_abandoned, directories, assigned, names, node.clock.now_ms())


async def until_safe(partitions: Iterable[Partition]) -> None:
    """Where records count only when the disk has them: until it has those that a kill left in the page cache. They may
    have been acknowledged, and whoever asks for them must not be told that they are not there."""
    for partition in partitions:
        if partition.leads:
            with suppress(KafkaError):
                await partition.safe.reaches(partition.log_end.offset)


class _Loading:
    def __init__(self, node: Node, plan: LoadPlan) -> None:
        self._node = node
        self._plan = plan
        self._configs: dict[str, TopicConfig] = {}
        for piece in plan.pieces:
            topic = piece.partition.topic
            if topic not in self._configs:
                self._configs[topic] = node.topic_config(topic)
        self._progress = Progress(plan, node.clock.now_ms(), every_ms=node.config.barnabas_recovery_report_interval_ms)
        self._recovered: set[Piece] = set()
        self._to_recover = deque(piece for piece in plan.pieces if piece.bytes_to_recover)
        """The largest first."""

    async def run(self) -> None:
        if self._is_worth_processes:
            async with trio.open_nursery() as nursery:
                for number in range(self._process_count):
                    nursery.start_soon(self._recover_in_process, f"{os.getpid()}-{number}")
        await self._load()

    # In processes

    @property
    def _is_worth_processes(self) -> bool:
        node = self._node
        return (
            node.durability is not Durability.MEMORY
            and bool(self._to_recover)
            and self._plan.bytes_to_recover >= node.config.barnabas_recovery_process_min_bytes
        )

    @property
    def _process_count(self) -> int:
        directories = {piece.directory for piece in self._to_recover}
        wanted = self._node.config.num_recovery_threads_per_data_dir * len(directories)
        return min(wanted, len(os.sched_getaffinity(0)), len(self._to_recover))

    async def _recover_in_process(self, name: str) -> None:
        """Piece after piece, until there are none. Where the process dies, or cannot do it, the piece is left for
        `_load`, which finds out what is wrong with it."""
        try:
            async with RecoveryProcess(name) as process:
                while self._to_recover:
                    piece = self._to_recover.popleft()
                    if not await self._recover(process, piece):
                        return
        except OSError as error:
            self._node.report(f"a process that recovers logs cannot be started: {error.strerror or error}")

    async def _recover(self, process: RecoveryProcess, piece: Piece) -> bool:
        """False if there is no process any more."""
        node = self._node
        job = node.directories.recovery_job(piece, self._configs[piece.partition.topic], node.clock.now_ms())

        def advance(count: int) -> None:
            self._progress.advance(piece, count)
            self._say()

        try:
            answer = await process.recover(job, node.report, advance)
        except EOFError:
            node.report(f"{piece.place.path}: the process that recovered it died; it is recovered in this one")
            return False
        if isinstance(answer, RecoveredPartition):
            node.directories.mark_recovered(piece, answer)
            self._recovered.add(piece)
            self._progress.note(piece)
            self._say()
        else:
            assert isinstance(answer, RecoveryFailed)
            node.report(f"{answer.path}: a process could not recover it: {answer.error}")
        return True

    # In threads

    async def _load(self) -> None:
        waiting = deque(self._plan.pieces)
        async with trio.open_nursery() as nursery:
            for _ in range(self._thread_count):
                nursery.start_soon(self._load_in_thread, waiting)

    @property
    def _thread_count(self) -> int:
        """One for each disk: opening a log is computing and small reads, in which two only wait for each other."""
        return max(len({piece.directory for piece in self._plan.pieces}), 1)

    async def _load_in_thread(self, waiting: deque[Piece]) -> None:
        while waiting:
            await trio.to_thread.run_sync(self._load_some, waiting)
            self._say()

    def _load_some(self, waiting: deque[Piece]) -> None:
        directories, clock = self._node.directories, self._node.clock
        end = time.monotonic() + _SLICE_S
        while time.monotonic() < end:
            try:
                piece = waiting.popleft()
            except IndexError:
                return
            directories.load(piece, self._configs[piece.partition.topic], clock.now_ms())
            if piece not in self._recovered:
                self._progress.note(piece)

    def _say(self) -> None:
        line = self._progress.line(self._node.clock.now_ms())
        if line is not None:
            self._node.report(line)
