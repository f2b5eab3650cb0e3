"""The log of the cluster's metadata, as a node has it that follows the controllers: it takes what their leader has, and
gives up what that does not have."""

from __future__ import annotations

import trio

from barnabas.broker.metadata_log import MetadataLog, apply_snapshot
from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.image_difference import become
from barnabas.coordination.cluster.snapshot_file import SnapshotId, decode_snapshot
from barnabas.protocol.varint import Bytes

__all__ = ["MetadataReplica"]


class MetadataReplica(MetadataLog):
    @property
    def last_epoch(self) -> int:
        """Of the last record that is here, or is in the snapshot with which the log begins."""
        latest = self.log.epochs.latest_epoch
        if latest is not None:
            return latest
        return self.snapshots.ids[-1].epoch if self.snapshots.ids else 0

    def begin_epoch(self, leader_id: int, epoch: int) -> None:
        """Somebody leads the controllers, as this node hears; -1: nobody yet."""
        self.epoch = epoch
        self.quorum.note_leader(leader_id, epoch)

    def receive(self, records: Bytes, now_ms: int) -> None:
        """KafkaError if they do not fit to what is here, or are damaged."""
        self.log.append_as_follower(records, now_ms)

    def truncate(self, epoch: int, end_offset: int, now_ms: int) -> int:
        """The leader's records of that epoch end there: give up what goes beyond, and return where the log ends."""
        if epoch > 0:
            own_epoch, own_end = self.log.epochs.end_offset_for(epoch, self.log.end_offset)
            if own_end >= 0:
                end_offset = min(own_end, end_offset) if own_epoch == epoch else own_end
        self.log.truncate_to(end_offset, now_ms)
        return self.log.end_offset

    async def take_snapshot(self, snapshot_id: SnapshotId, data: bytes, image: ClusterImage) -> ImageDelta:
        """The leader's: it is written, and the image is what it says. MalformedFrame, and nothing has changed, if it
        cannot be read."""
        snapshot = decode_snapshot(data)
        await trio.to_thread.run_sync(self.snapshots.write, snapshot_id, data)
        self.snapshots.add(snapshot_id)
        self.quorum.read_snapshot(snapshot_id, snapshot)
        told = ClusterImage()
        apply_snapshot(told, snapshot_id, snapshot)
        return become(image, told)

    def begin_at(self, snapshot_id: SnapshotId, now_ms: int) -> None:
        """With the snapshot in place of all that is here."""
        self.log.truncate_fully_and_start_at(snapshot_id.end_offset, now_ms)
        for path in self.snapshots.forget_before(snapshot_id):
            self._disk.remove(path)
        self._bytes_since_snapshot = 0
        self.snapshot_ms = now_ms
