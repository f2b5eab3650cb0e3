"""Logs that are cut to what their leaders have: not while they are compacted, and with their recovery points written
down before anything is appended. Below it, the next start would trust what was appended since and may not be safe."""

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
        self._unwritten: set[Log] = set()
        """Their recovery points in the files are too high."""

    @asynccontextmanager
    async def around(self, partitions: Sequence[Partition]) -> AsyncIterator[None]:
        """KafkaError if what was cut is not safe: it has to be tried again before anything is appended."""
        async with AsyncExitStack() as stack:
            if self._compaction is not None:
                for partition in partitions:
                    if partition.log.config.compact:
                        await stack.enter_async_context(self._compaction.paused(partition.name))
            before = [(each, each.log, each.log.recovery_point, each.log.start_offset) for each in partitions]
            yield
            for partition, log, recovery_point, start_offset in before:
                if log.recovery_point < recovery_point or log.start_offset < start_offset:
                    self._unwritten.add(log)
                if self._compaction is not None and log.config.compact:
                    self._compaction.look(partition)
            self._write({log for _, log, _, _ in before})

    def _write(self, of_these: set[Log]) -> None:
        """KafkaError if that failed for one of these. Others hear of theirs when they are cut again."""
        directories = self._node.directories
        failure: KafkaError | None = None
        left: set[Log] = set()
        for directory in list(directories.online) if self._unwritten else ():
            cut = self._unwritten.intersection(directory.logs.values())
            if not cut:
                continue
            try:
                with directories.watching(directory):
                    directory.write_recovery_points()
            except KafkaError as error:
                left |= cut
                if cut & of_these:
                    failure = error
        # Of what is in no directory nothing has to be written: it is not here any more.
        self._unwritten = left
        if failure is not None:
            raise failure
