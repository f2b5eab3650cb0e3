"""A log directory that fails while the node runs: its partitions are gone from here, the controller is told, and all
others go on. Without the directory of the metadata log, or without any, the node stops and says why.

A full disk is no failure: what it has is read, and appends work again when there is room.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from barnabas.protocol.errors import KafkaError
from barnabas.replication.partition import Partition
from barnabas.storage.directory_errors import explain, is_failure
from barnabas.storage.log_directory import TopicPartition

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["DiskFailures"]


class DiskFailures:
    def __init__(self, node: Node) -> None:
        self._node = node
        node.directories.on_offline = self._offline

    # Told by whoever met the error

    def refused(self, partition: Partition, error: KafkaError) -> None:
        """A log could not append or read."""
        if isinstance(error.__cause__, OSError):
            self.failed(partition, error.__cause__)

    def failed(self, partition: Partition, error: OSError) -> None:
        replica = self._node.directories.find(partition.name)
        if replica is not None and replica.log is partition.log and is_failure(error):
            self._take_offline(replica.directory.path, error)

    def sync_failed(self, partition: Partition, error: OSError) -> None:
        """Whatever the reason: what the disk did not take is nowhere any more, and a second sync would not say so."""
        replica = self._node.directories.find(partition.name)
        if replica is not None and replica.log is partition.log:
            self._take_offline(replica.directory.path, error)

    def file_failed(self, path: Path, error: OSError) -> None:
        """While it was sent to a client."""
        for directory in list(self._node.directories.online):
            if directory.path in path.parents and is_failure(error):
                self._take_offline(directory.path, error)

    def metadata_failed(self, error: OSError, lost: bool) -> None:
        """`lost`: something was written and may not be there."""
        if lost or is_failure(error):
            self._take_offline(self._node.directories.metadata.path, error)

    def _take_offline(self, path: Path, error: OSError) -> None:
        self._node.directories.take_offline(path, explain(path, error))

    # What comes of it

    def _offline(self, _path: Path, lost: Sequence[TopicPartition]) -> None:
        if trio.lowlevel.in_trio_run():
            self._go_on_without(lost)
        else:  # a thread that loads logs
            trio.from_thread.run_sync(self._go_on_without, lost)

    def _go_on_without(self, lost: Sequence[TopicPartition]) -> None:
        node = self._node
        for partition in lost:
            node.partitions.lose(partition)
        why = node.directories.must_stop
        if why is not None:
            node.fail(f"The node stops: {why}")
        else:
            node.heartbeats.soon()
