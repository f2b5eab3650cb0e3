"""All duties of a node together: who is told what, and that all of them end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from barnabas.broker.housekeeping.assignments import Assignments
from barnabas.broker.housekeeping.checkpoints import Checkpoints
from barnabas.broker.housekeeping.compaction import Compaction
from barnabas.broker.housekeeping.cutting import Cutting
from barnabas.broker.housekeeping.flushing import Flushing
from barnabas.broker.housekeeping.producer_expiry import expire_producers
from barnabas.broker.housekeeping.removal import Removal
from barnabas.broker.housekeeping.retention import Retention
from barnabas.broker.partitions import Partitions
from barnabas.replication.partition import Partition
from barnabas.storage.durability import Durability

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Housekeeper"]


class Housekeeper:
    """`run` in a task of the node; `stop` returns when nothing of it goes on any more."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._keeps_files = node.durability is not Durability.MEMORY
        self.removal = Removal(node)
        self.retention = Retention(node)
        self.flushing = Flushing(node)
        self.checkpoints = Checkpoints(node)
        self.assignments = Assignments(node)
        self.compaction = Compaction(node) if node.config.log_cleaner_enable else None
        self.cutting = Cutting(node, self.compaction)
        self._scope = trio.CancelScope()
        self._ended = trio.Event()

    async def run(self) -> None:
        self.removal.take_leftovers()
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self.removal.run)
                    nursery.start_soon(self.retention.run)
                    nursery.start_soon(expire_producers, self._node)
                    nursery.start_soon(self.assignments.run)
                    nursery.start_soon(self._node.replica_moves.run)
                    if self.compaction is not None:
                        nursery.start_soon(self.compaction.run)
                    if self._keeps_files:
                        nursery.start_soon(self.flushing.run)
                        nursery.start_soon(self.checkpoints.run)
        finally:
            self._ended.set()

    async def stop(self) -> None:
        self._scope.cancel()
        await self._ended.wait()

    # Told by the partitions

    def attend(self, partitions: Partitions) -> None:
        partitions.on_growth = self.grew
        partitions.on_failure = self._node.disk_failures.refused
        partitions.write_cut = self.cutting.written
        partitions.on_open.append(self.opened)
        partitions.on_close.append(self.closed)
        partitions.on_configure.append(self.configured)

    def opened(self, partition: Partition) -> None:
        self.retention.opened(partition)
        self.assignments.look(partition)
        if self.compaction is not None:
            self.compaction.look(partition)

    def closed(self, partition: Partition) -> None:
        """It has been deleted, or its disk has failed."""
        self.retention.closed(partition)
        self.flushing.closed(partition)
        if self.compaction is not None:
            self.compaction.closed(partition)
        self.removal.look()

    def configured(self, partition: Partition) -> None:
        """Its topic has another configuration."""
        partition.look_at_size = 0
        if self.compaction is not None:
            self.compaction.look(partition)
        if partition.log.size:
            self.retention.look_now(partition)

    def grew(self, partition: Partition) -> None:
        """Called in the middle of a request: nothing is done here but noting what is to be done."""
        log = partition.log
        if log.removed:
            self.removal.take(log)
        partition.look_at_size = self.retention.grew(partition)
        if self.compaction is not None and log.config.compact:
            self.compaction.grew(partition)
        if self._keeps_files:
            partition.look_at_size = min(partition.look_at_size, self.flushing.grew(partition))

    # Asked by duties

    def may_delete(self, partition: Partition) -> bool:
        """Whether segments may go from the front of its log now."""
        return self.compaction is None or self.compaction.may_delete(partition)
