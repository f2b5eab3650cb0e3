"""The log of the cluster's metadata, as the controller writes it that alone votes.

Whoever alone votes wins every election: each start is a new epoch, which begins with a LeaderChange record, as Kafka's
raft writes it. Records count when they have been synced, whatever the durability of other topics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from barnabas.broker.metadata_log import MetadataLog
from barnabas.broker.quorum import first_voters
from barnabas.coordination.cluster.bootstrap import (
    BOOTSTRAP_CHECKPOINT,
    bootstrap_records,
    decode_bootstrap_checkpoint,
    encode_bootstrap_checkpoint,
    encode_first_snapshot,
)
from barnabas.coordination.cluster.log_batch import build_metadata_batch
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.snapshot_file import BOOTSTRAP_SNAPSHOT, SnapshotId
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.records.control import VotersRecordVoter
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.disk import Disk
from barnabas.storage.durability import Unsynced
from barnabas.storage.producer_state import AppendOrigin
from barnabas.storage.topic_config import TopicConfig

__all__ = ["OwnMetadataLog"]


class OwnMetadataLog(MetadataLog):
    """Open it, `replay` it, `begin_epoch`; then `append` and, when synced, `synced`."""

    def __init__(
        self,
        disk: Disk,
        parent: Path,
        *,
        ours: VotersRecordVoter,
        static: bool,
        config: TopicConfig,
        now_ms: int,
        report: Callable[[str], None],
    ) -> None:
        """In a `static` quorum, of controller.quorum.voters, no record says who votes; that counts for a quorum that
        begins now, and later what the log says."""
        self._ours = ours
        self._static = static
        self._bootstrap_path = parent / BOOTSTRAP_CHECKPOINT
        super().__init__(disk, parent, ours=ours, config=config, now_ms=now_ms, report=report)

    def _format(self, now_ms: int) -> None:
        """What is not there yet: it may have been done halfway. A log that has begun is not touched."""
        disk, directory = self._disk, self.directory
        there = disk.exists(directory)
        names = disk.names(directory) if there else []
        if any(SnapshotId.parse(name) for name in names) or any(name.endswith(".log") for name in names):
            return
        if not disk.exists(self._bootstrap_path):
            disk.replace_file(self._bootstrap_path, encode_bootstrap_checkpoint(bootstrap_records(), now_ms=now_ms))
        disk.make_directory(directory)
        disk.sync_directory(directory.parent)
        if not self._static:
            data = encode_first_snapshot(first_voters(self._ours), now_ms=now_ms)
            disk.replace_file(directory / BOOTSTRAP_SNAPSHOT.file_name, data)

    @property
    def bootstrap(self) -> Sequence[MetadataRecord]:
        """What a new cluster begins with."""
        try:
            return decode_bootstrap_checkpoint(self._disk.read_file(self._bootstrap_path))
        except FileNotFoundError:
            return bootstrap_records()
        except MalformedFrame as error:
            raise MalformedFile(
                self._bootstrap_path,
                None,
                str(error),
                "restore it from a copy, or delete it to begin with the defaults",
            ) from None

    # Leading

    def begin_epoch(self, now_ms: int) -> None:
        """Vote for ourselves, and say in the log that we lead."""
        latest = self.log.epochs.latest_epoch
        newest = self.snapshots.ids[-1].epoch if self.snapshots.ids else 0
        self.epoch, records = self.quorum.begin_epoch(max(newest, -1 if latest is None else latest), now_ms)
        self._append(build_batch(records, control=True), now_ms)
        self.sync()

    def append(self, records: Sequence[MetadataRecord], now_ms: int) -> int:
        """All in one batch; return the offset of the first."""
        base_offset = self.log.end_offset
        self._append(
            build_metadata_batch(records, base_offset=base_offset, leader_epoch=self.epoch, now_ms=now_ms), now_ms
        )
        return base_offset

    def take_back(self, offset: int, now_ms: int) -> None:
        """What was appended last, and is not synced."""
        self.log.truncate_to(offset, now_ms)

    def _append(self, data: bytes, now_ms: int) -> None:
        self._bytes_since_snapshot += len(data)
        self.log.append_as_leader([Batch(data)], self.epoch, now_ms, origin=AppendOrigin.RAFT_LEADER)

    def unsynced(self) -> Unsynced:
        return self.log.unsynced_records()

    def synced(self, work: Unsynced) -> None:
        self.log.records_synced(work)

    def sync(self) -> None:
        work = self.unsynced()
        work.sync()
        self.synced(work)
