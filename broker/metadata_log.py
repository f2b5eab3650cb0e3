"""`__cluster_metadata-0` of a quorum in which this node alone votes: its log, its snapshots, and the file quorum-state.

Whoever alone votes wins every election: each start is a new epoch, which begins with a LeaderChange record, as Kafka's
raft writes it. Records count when they have been synced, whatever the durability of other topics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from barnabas.coordination.cluster.bootstrap import (
    BOOTSTRAP_CHECKPOINT,
    bootstrap_records,
    decode_bootstrap_checkpoint,
    encode_bootstrap_checkpoint,
    encode_first_snapshot,
)
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.log_batch import build_metadata_batch, read_metadata_batch
from barnabas.coordination.cluster.quorum_state import QUORUM_STATE, decode_quorum_state, encode_quorum_state
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.snapshot_file import (
    BOOTSTRAP_SNAPSHOT,
    Snapshot,
    SnapshotId,
    decode_snapshot,
    encode_snapshot,
)
from barnabas.coordination.cluster.snapshot_records import snapshot_records
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.codec import encode
from barnabas.protocol.control import ControlRecordType, control_key, control_record_type
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import Record, read_records
from barnabas.protocol.records.control import KRaftVersionRecord, LeaderChangeMessage, Voter, VotersRecord
from barnabas.protocol.records.quorum_state import QuorumStateData
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.disk import Disk
from barnabas.storage.durability import Unsynced
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.log_directory import METADATA_TOPIC
from barnabas.storage.producer_state import AppendOrigin
from barnabas.storage.topic_config import TopicConfig

__all__ = ["MetadataLog", "metadata_log_config"]

_READ_BYTES = 4 << 20
_CLUSTER_METADATA_ID = Uuid((1).to_bytes(16, "big"))
"""The topic id that Kafka gives to this one topic, in every cluster."""


def metadata_log_config(segment_bytes: int, segment_ms: int, max_batch_bytes: int) -> TopicConfig:
    return TopicConfig.load(
        {
            "internal.segment.bytes": str(segment_bytes),
            "segment.ms": str(segment_ms),
            "max.message.bytes": str(max_batch_bytes),
            "retention.ms": "-1",
            "retention.bytes": "-1",
        }
    )


class MetadataLog:
    """Open it, `replay` it, `begin_epoch`; then `append` and, when synced, `committed`."""

    def __init__(
        self,
        disk: Disk,
        parent: Path,
        *,
        node_id: int,
        directory_id: Uuid,
        config: TopicConfig,
        voters: VotersRecord,
        now_ms: int,
        report: Callable[[str], None],
    ) -> None:
        """`voters` are for a quorum that begins now; later its own records say who votes."""
        self._disk = disk
        self._node_id = node_id
        self._directory_id = directory_id
        self._report = report
        self.directory = parent / f"{METADATA_TOPIC}-0"
        self._bootstrap_path = parent / BOOTSTRAP_CHECKPOINT
        is_new = not disk.exists(self.directory)
        if is_new and not disk.exists(self._bootstrap_path):
            disk.replace_file(self._bootstrap_path, encode_bootstrap_checkpoint(bootstrap_records(), now_ms=now_ms))
        disk.make_directory(self.directory)
        if is_new:
            disk.sync_directory(parent)
            disk.replace_file(
                self.directory / BOOTSTRAP_SNAPSHOT.file_name, encode_first_snapshot(voters, now_ms=now_ms)
            )
        self.snapshot_ids = self._find_snapshots()
        self.kraft_version = 0
        self.voters: VotersRecord | None = None
        latest = self.snapshot_ids[-1] if self.snapshot_ids else None
        self.log: Log = open_log(
            disk,
            self.directory,
            config,
            now_ms=now_ms,
            # Kafka too never trusts that this log was closed: it is small, and everything hangs on it.
            clean=False,
            start_offset=0 if latest is None else self._log_start(latest),
            report=report,
        )
        self.epoch = 0
        self._bytes_since_snapshot = 0

    @property
    def end_offset(self) -> int:
        return self.log.end_offset

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

    def _find_snapshots(self) -> list[SnapshotId]:
        found = map(SnapshotId.parse, self._disk.names(self.directory))
        return sorted(one for one in found if one is not None)

    def _log_start(self, snapshot: SnapshotId) -> int:
        """The log may begin no later than the newest snapshot ends, and does so where its older segments are gone."""
        bases = [int(name[:20]) for name in self._disk.names(self.directory) if name.endswith(".log")]
        return min([snapshot.end_offset, *bases]) if bases else snapshot.end_offset

    # Reading

    def replay(self, image: ClusterImage) -> None:
        """Everything that the snapshot and the log say, into an empty image."""
        offset = 0
        if self.snapshot_ids:
            latest = self.snapshot_ids[-1]
            snapshot = self._read_snapshot(latest)
            self.kraft_version, self.voters = snapshot.kraft_version, snapshot.voters
            offset = latest.end_offset
            image.apply_batch(
                snapshot.records,
                offset - len(snapshot.records),
                epoch=latest.epoch,
                timestamp_ms=snapshot.last_log_timestamp_ms,
            )
            image.next_offset = offset
        for batch in self.batches_from(max(offset, self.log.start_offset)):
            if batch.next_offset > offset:
                self._bytes_since_snapshot += batch.size
                self._apply(batch, image)

    def _read_snapshot(self, snapshot_id: SnapshotId) -> Snapshot:
        path = self.directory / snapshot_id.file_name
        try:
            return decode_snapshot(self._disk.read_file(path))
        except MalformedFrame as error:
            raise MalformedFile(
                path, None, str(error), "restore it from a copy; the log alone does not hold what came before it"
            ) from None

    def _apply(self, batch: Batch, image: ClusterImage) -> None:
        if batch.control:
            self._read_control(batch)
            image.next_offset = batch.next_offset
            image.epoch = batch.partition_leader_epoch
        else:
            image.apply_batch(
                read_metadata_batch(batch),
                batch.base_offset,
                epoch=batch.partition_leader_epoch,
                timestamp_ms=batch.max_timestamp,
            )

    def _read_control(self, batch: Batch) -> None:
        from barnabas.protocol.codec import decode

        for record in read_records(batch):
            kind = control_record_type(record.key)
            if kind is ControlRecordType.KRAFT_VERSION and record.value is not None:
                self.kraft_version = decode(KRaftVersionRecord, 0, record.value).kraft_version
            elif kind is ControlRecordType.KRAFT_VOTERS and record.value is not None:
                self.voters = decode(VotersRecord, 0, record.value)

    def batches_from(self, offset: int) -> list[Batch]:
        """Whole, checked."""
        batches: list[Batch] = []
        while offset < self.log.end_offset:
            part = self.log.read(offset, _READ_BYTES)
            found = list(iterate_batches(part.read()))
            for batch in found:
                batch.check()
            if not found:
                break
            offset = found[-1].next_offset
            batches += found
        return batches

    # Leading

    def begin_epoch(self, now_ms: int) -> None:
        """Vote for ourselves, and say in the log that we lead."""
        state, version = self._read_quorum_state()
        latest = self.log.epochs.latest_epoch
        self.epoch = max(state.leader_epoch, -1 if latest is None else latest) + 1
        state = QuorumStateData(
            leader_id=self._node_id,
            leader_epoch=self.epoch,
            voted_id=-1,
            cluster_id="",
            current_voters=state.current_voters,
        )
        if version == 1:
            state.voted_directory_id = Uuid(bytes(16))
        self._disk.replace_file(self.directory / QUORUM_STATE, encode_quorum_state(state, version) + b"\n")
        first = self.log.end_offset == 0 and self.kraft_version >= 1
        self._append_control(now_ms, with_voters=first)
        self.sync()

    def _read_quorum_state(self) -> tuple[QuorumStateData, int]:
        path = self.directory / QUORUM_STATE
        if not self._disk.exists(path):
            return QuorumStateData(leader_id=-1, leader_epoch=0, voted_id=-1), 1 if self.kraft_version >= 1 else 0
        try:
            return decode_quorum_state(self._disk.read_file(path))
        except ValueError as error:
            raise MalformedFile(path, None, str(error), "delete it: this node alone votes") from None

    def _append_control(self, now_ms: int, *, with_voters: bool) -> None:
        ours = [Voter(voter_id=self._node_id, voter_directory_id=self._directory_id)]
        version = 1 if self.kraft_version >= 1 else 0
        change = LeaderChangeMessage(version=version, leader_id=self._node_id, voters=ours, granting_voters=ours)
        records = [Record(control_key(ControlRecordType.LEADER_CHANGE), encode(change, version), timestamp=now_ms)]
        if with_voters and self.voters is not None:
            kraft = KRaftVersionRecord(kraft_version=self.kraft_version)
            records += [
                Record(control_key(ControlRecordType.KRAFT_VERSION), encode(kraft, 0), timestamp=now_ms),
                Record(control_key(ControlRecordType.KRAFT_VOTERS), encode(self.voters, 0), timestamp=now_ms),
            ]
        self._append(build_batch(records, control=True), now_ms)

    def append(self, records: Sequence[MetadataRecord], now_ms: int) -> int:
        """All in one batch; return the offset of the first."""
        base_offset = self.log.end_offset
        self._append(
            build_metadata_batch(records, base_offset=base_offset, leader_epoch=self.epoch, now_ms=now_ms), now_ms
        )
        return base_offset

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

    # Snapshots

    def wants_snapshot(self, max_bytes: int) -> bool:
        return self._bytes_since_snapshot > max_bytes

    def take_snapshot(self, image: ClusterImage, now_ms: int) -> SnapshotId:
        """Of an image of all that is committed."""
        snapshot_id = SnapshotId(image.next_offset, image.epoch)
        data = encode_snapshot(
            snapshot_records(image),
            epoch=image.epoch,
            last_log_timestamp_ms=image.timestamp_ms,
            now_ms=now_ms,
            kraft_version=self.kraft_version,
            voters=self.voters,
        )
        self._disk.replace_file(self.directory / snapshot_id.file_name, data)
        self.snapshot_ids = self._find_snapshots()
        self._bytes_since_snapshot = 0
        return snapshot_id

    def close(self) -> None:
        self.log.close()
