"""The metadata log as other nodes read it: led by this node, served as far as it is committed.

What is appended and not synced is shown to nobody, so that the end of the log and its high watermark are one to all who
read it. Nobody else votes, and nobody else is ever the leader.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from barnabas.broker.registration import controller_addresses
from barnabas.coordination.cluster.log_position import Diverging, locate
from barnabas.coordination.cluster.observers import ObserverKey, Observers
from barnabas.coordination.cluster.snapshot_file import BOOTSTRAP_SNAPSHOT, SnapshotId
from barnabas.protocol.errors import ErrorCode
from barnabas.replication.watermark import Watermark
from barnabas.storage.disk import File
from barnabas.storage.file_slice import FileSlice
from barnabas.storage.leader_epochs import UNDEFINED_EPOCH

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["MetadataLeader"]

Named = TypeVar("Named")


class MetadataLeader:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._addresses = controller_addresses(node.config.advertised_controller_listeners, node.controller_listeners)
        self.observers = Observers()

    # Who leads

    @property
    def id(self) -> int:
        return self._node.node_id

    @property
    def epoch(self) -> int:
        return self._node.journal.epoch

    @property
    def high_watermark(self) -> Watermark:
        return self._node.controller.committed

    def check_epoch(self, epoch: int) -> ErrorCode:
        """Of a request that is meant for the leader of that epoch."""
        if epoch < self.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.NONE if epoch == self.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH

    def is_of_this_cluster(self, cluster_id: str | None) -> bool:
        """Nobody has to say it."""
        return cluster_id is None or cluster_id == self._node.cluster_id

    def endpoints(self, make: Callable[[int, str, int], Named], listener: str) -> list[Named]:
        """Where the leader is found, for who came in by that listener."""
        return [make(self.id, host, port) for name, host, port in self._addresses if name == listener]

    # What it has

    @property
    def start_offset(self) -> int:
        return self._node.journal.log.start_offset

    def locate(self, offset: int, epoch: int) -> Diverging | SnapshotId | None:
        journal = self._node.journal
        return locate(
            offset,
            epoch,
            start_offset=journal.log.start_offset,
            snapshots=journal.snapshots.ids,
            end_of_epoch=self._end_of_epoch,
        )

    def _end_of_epoch(self, epoch: int) -> tuple[int, int]:
        log, end_offset = self._node.journal.log, self.high_watermark.offset
        found = log.epochs.end_offset_for(epoch, end_offset)
        if found.epoch != UNDEFINED_EPOCH:
            return found
        snapshots = self._node.journal.snapshots.ids
        latest = log.epochs.latest_epoch
        if latest is None:
            latest = snapshots[-1].epoch if snapshots else 0
        return latest, end_offset

    def read(self, offset: int, max_bytes: int) -> FileSlice:
        """KafkaError if the disk fails."""
        return self._node.journal.log.read(offset, max_bytes, end_offset=self.high_watermark.offset)

    def open_snapshot(self, snapshot_id: SnapshotId) -> File | None:
        """OSError if the disk fails."""
        snapshots = self._node.journal.snapshots
        if snapshot_id == BOOTSTRAP_SNAPSHOT or snapshot_id not in snapshots.ids:
            return None
        return snapshots.open(snapshot_id)

    # Who reads it

    def note_fetch(self, key: ObserverKey, offset: int) -> None:
        if key.node_id >= 0:
            now_ms = self._node.clock.steady.now_ms()
            self.observers.fetched(key, offset, self.high_watermark.offset, now_ms)
