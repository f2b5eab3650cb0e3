"""Logs that are cut to what their leaders have: not while they are compacted, and with their recovery points written
down before anything is appended. Below it, the next start would trust what was appended since and may not be safe.

They are written once for all that are cut together. One of them may lead by then, or follow another: it has `written`
called before it appends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from barnabas.protocol.errors import KafkaError
from barnabas.replication.partition import Partition
from barnabas.storage.log import Log

if TYPE_CHECKING:
    from barnabas.broker.housekeeping.compaction import Compaction
    from barnabas.broker.node import Node

__all__ = ["Cutting"]


class Cutting:
    def __init__(self, node: Node, compaction: Compaction | None) -> None:
        self._node = node
        self._compaction = compaction

    @asynccontextmanager
    async def around(self, partitions: Sequence[Partition]) -> AsyncIterator[None]:
        """KafkaError if what was cut is not safe: it has to be tried again before anything is appended."""
        async with AsyncExitStack() as stack:
            if self._compaction is not None:
                for partition in partitions:
                    if partition.log.config.compact:
                        await stack.enter_async_context(self._compaction.paused(partition.name))
            before = [(each, each.log) for each in partitions]
            yield
            for partition, log in before:
                if self._compaction is not None and log.config.compact:
                    self._compaction.look(partition)
            self._write({log for _, log in before if log.checkpoints_unsaved})

    def written(self, partition: Partition) -> None:
        """What was cut off its log is written down. KafkaError if it cannot be."""
        self._write({partition.log})

    def _write(self, cut: set[Log]) -> None:
        """KafkaError if that failed for one of these. Of what is in no directory nothing has to be written: it is not
        here any more."""
        directories = self._node.directories
        failure: KafkaError | None = None
        for directory in list(directories.online) if cut else ():
            if cut.isdisjoint(directory.logs.values()):
                continue
            try:
                with directories.watching(directory):
                    directory.write_recovery_points()
            except KafkaError as error:
                failure = error
        if failure is not None:
            raise failure
