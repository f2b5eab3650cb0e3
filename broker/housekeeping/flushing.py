"""Flushing: a segment that is full is synced in a thread, so that a start after a crash need not read it; and the
active one where the topic's flush.messages and flush.ms say so. Each disk is waited for on its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import trio

from barnabas.broker.housekeeping.deadlines import Deadlines
from barnabas.broker.housekeeping.retention import NEVER
from barnabas.broker.syncer import sync_all
from barnabas.replication.partition import Partition
from barnabas.storage.topic_config import FOREVER

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Flushing"]


class Flushing:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._due: dict[Partition, bool] = {}
        """Whether the active segment is synced, too."""
        self.is_busy = False
        self._wake = trio.Event()
        self._deadlines: Deadlines[Partition] = Deadlines(node.clock.steady)
        """By flush.ms."""

    # Told by others

    def closed(self, partition: Partition) -> None:
        self._due.pop(partition, None)
        self._deadlines.forget(partition)

    def grew(self, partition: Partition) -> int:
        """The size of the active segment at which to ask again."""
        log = partition.log
        if log.recovery_point < log.active.base_offset:
            self._ask(partition, with_active=False)
        config = log.config
        if config.flush_messages == FOREVER == config.flush_ms:
            return NEVER
        if log.end_offset - log.recovery_point >= config.flush_messages:
            self._ask(partition, with_active=True)
        if config.flush_ms < FOREVER and partition not in self._deadlines:
            self._deadlines.set(partition, self._node.clock.steady.now_ms() + config.flush_ms)
        return 0

    def _ask(self, partition: Partition, *, with_active: bool) -> None:
        self._due[partition] = with_active or self._due.get(partition, False)
        self._wake.set()

    # The duty

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch_deadlines)
            while True:
                self.is_busy = False
                await self._wake.wait()
                self.is_busy = True
                self._wake = trio.Event()
                due, self._due = self._due, {}
                async with trio.open_nursery() as round_:
                    for directory in self._node.directories.online:
                        here = [one for one in due.items() if directory.logs.get(one[0].name) is one[0].log]
                        if here:
                            round_.start_soon(self._flush, here)

    async def _watch_deadlines(self) -> None:
        while True:
            for partition in await self._deadlines.next_due():
                if partition.log.recovery_point < partition.log.end_offset:
                    self._ask(partition, with_active=True)

    async def _flush(self, due: Sequence[tuple[Partition, bool]]) -> None:
        works = {
            partition: partition.log.unsynced() if with_active else partition.log.unsynced_sealed()
            for partition, with_active in due
        }
        for partition, work, failure in await sync_all(works):
            if failure is not None:
                self._node.disk_failures.failed(partition, failure)
            else:
                partition.log.synced(work)
