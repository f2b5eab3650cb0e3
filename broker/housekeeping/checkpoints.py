"""Checkpoints: high watermarks, recovery points and starts of logs, written down every so often, if they have changed.

What is written is gathered in the loop, made safe in a thread under a name of its own, and gets its name in the loop,
if it still is what is there by then: a partition that was deleted meanwhile must not leave its recovery point to
another one that gets its name. Each directory is waited for on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from barnabas.storage.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    encode_offsets,
)
from barnabas.storage.disk import Disk
from barnabas.storage.log import Log
from barnabas.storage.log_directories import own_high_watermarks
from barnabas.storage.log_directory import LogDirectory, TopicPartition

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Checkpoints"]

Offsets = Mapping[TopicPartition, int]

_NEW = ".new"
"""Not `.tmp`, which the loop uses where it writes one of these files itself."""

_MOST_TRIES = 3
"""Where partitions come and go all the time, the next interval has to do."""


class Checkpoints:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._written: dict[Path, Offsets] = {}

    async def run(self) -> None:
        config = self._node.config
        async with trio.open_nursery() as nursery:
            for gather, name, interval_ms in (
                (_recovery_points, RECOVERY_POINT_OFFSET_CHECKPOINT, config.log_flush_offset_checkpoint_interval_ms),
                (_start_offsets, LOG_START_OFFSET_CHECKPOINT, config.log_flush_start_offset_checkpoint_interval_ms),
                (
                    self._high_watermarks,
                    REPLICATION_OFFSET_CHECKPOINT,
                    config.replica_high_watermark_checkpoint_interval_ms,
                ),
            ):
                for directory in self._node.directories.online:
                    nursery.start_soon(self._repeat, directory, gather, name, interval_ms)

    async def _repeat(
        self, directory: LogDirectory, gather: Callable[[LogDirectory], Offsets], name: str, interval_ms: int
    ) -> None:
        while True:
            await self._node.clock.sleep(max(interval_ms, 1))
            if directory not in self._node.directories.online:
                return
            with self._node.directories.surviving(directory):
                await self._write(directory, gather, directory.path / name)

    def _high_watermarks(self, directory: LogDirectory) -> Offsets:
        own = own_high_watermarks(directory, self._node.partitions.high_watermarks())
        return directory.high_watermarks_with(own)

    async def _write(self, directory: LogDirectory, gather: Callable[[LogDirectory], Offsets], path: Path) -> None:
        disk = self._node.disk
        for _ in range(_MOST_TRIES):
            logs, offsets = dict(directory.logs), gather(directory)
            if offsets == self._written.get(path):
                return
            new = path.with_name(path.name + _NEW)
            await trio.to_thread.run_sync(_prepare, disk, new, offsets)
            if _is_still(directory, logs, offsets, gather(directory)):
                disk.rename(new, path)
                self._written[path] = offsets
                if path.name != REPLICATION_OFFSET_CHECKPOINT:
                    directory.note_checkpointed(offsets)
                await trio.to_thread.run_sync(disk.sync_directory, directory.path)
                return


def _recovery_points(directory: LogDirectory) -> Offsets:
    return directory.recovery_points()


def _start_offsets(directory: LogDirectory) -> Offsets:
    return directory.start_offsets()


def _is_still(directory: LogDirectory, logs: Mapping[TopicPartition, Log], offsets: Offsets, now: Offsets) -> bool:
    """Of the same logs, none of which has been cut off below what was gathered."""
    return all(
        directory.logs.get(partition) is logs.get(partition) and now.get(partition, offset) >= offset
        for partition, offset in offsets.items()
    )


def _prepare(disk: Disk, path: Path, offsets: Offsets) -> None:
    disk.remove(path)
    file = disk.open(path)
    file.write(0, [encode_offsets({(key.topic, key.partition): at for key, at in offsets.items()})])
    file.sync()
