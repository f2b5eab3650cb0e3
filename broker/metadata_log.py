"""`__cluster_metadata-0` of a quorum in which this node alone votes: its log and its snapshots.

Whoever alone votes wins every election: each start is a new epoch, which begins with a LeaderChange record, as Kafka's
raft writes it. Records count when they have been synced, whatever the durability of other topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from barnabas.broker.metadata_snapshots import MetadataSnapshots
from barnabas.broker.quorum import Quorum, first_voters
from barnabas.coordination.cluster.bootstrap import (
    BOOTSTRAP_CHECKPOINT,
    bootstrap_records,
    decode_bootstrap_checkpoint,
    encode_bootstrap_checkpoint,
    encode_first_snapshot,
)
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.log_batch import build_metadata_batch, read_metadata_batch
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.snapshot_file import BOOTSTRAP_SNAPSHOT, Snapshot, SnapshotId, encode_snapshot
from barnabas.coordination.cluster.snapshot_records import snapshot_records
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.records.control import VotersRecordVoter
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.disk import Disk
from barnabas.storage.durability import Unsynced
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.log_directory import METADATA_TOPIC
from barnabas.storage.producer_state import AppendOrigin
from barnabas.storage.segment import Segment
from barnabas.storage.topic_config import TopicConfig

__all__ = ["MetadataLog", "metadata_log_config"]

_READ_BYTES = 4 << 20
_SHORT_LOG_BYTES = 64 << 10
"""It is read in no time."""


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
        """`ours` is this node as a voter. In a `static` quorum, of controller.quorum.voters, no record says who votes;
        that counts for a quorum that begins now, and later what the log says."""
        self._disk = disk
        self._report = report
        self._node_id = ours.voter_id
        self.directory = parent / f"{METADATA_TOPIC}-0"
        self._bootstrap_path = parent / BOOTSTRAP_CHECKPOINT
        self._format(ours, static=static, now_ms=now_ms)
        self.quorum = Quorum(disk, self.directory, ours)
        self.snapshots = MetadataSnapshots(disk, self.directory, report)
        self._newest = self.snapshots.read_latest()
        bases = self._bases()
        end_of_snapshot = self._newest[0].end_offset if self._newest else 0
        self.log: Log = open_log(
            disk,
            self.directory,
            config,
            now_ms=now_ms,
            # Kafka too never trusts that this log was closed: it is small, and everything hangs on it.
            clean=False,
            start_offset=min(bases, default=end_of_snapshot),
            report=report,
        )
        self._fit_to_snapshot(now_ms)
        self.snapshots.put_unreadable_aside()
        self.epoch = 0
        self._bytes_since_snapshot = self._bytes_at_snapshot = 0
        self.snapshot_ms = now_ms

    def _format(self, ours: VotersRecordVoter, *, static: bool, now_ms: int) -> None:
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
        if not static:
            data = encode_first_snapshot(first_voters(ours), now_ms=now_ms)
            disk.replace_file(directory / BOOTSTRAP_SNAPSHOT.file_name, data)

    def _bases(self) -> list[int]:
        names = self._disk.names(self.directory)
        return [int(name[:20]) for name in names if len(name) == 24 and name.endswith(".log")]

    def _fit_to_snapshot(self, now_ms: int) -> None:
        """A log that ends before the newest snapshot lacks what that has, and begins anew behind it. One that begins
        behind it has lost records for good."""
        log = self.log
        end, epoch = self._newest[0] if self._newest else (0, 0)
        if log.start_offset > end:
            raise MalformedFile(
                self.directory,
                None,
                f"the log begins at offset {log.start_offset}, and its newest snapshot that can be read ends at {end}",
                "restore the missing snapshot from a copy",
            )
        if log.end_offset < end or (log.end_offset == end and (log.epochs.latest_epoch or 0) < epoch):
            if log.end_offset > log.start_offset:
                self._report(
                    f"{self.directory}: the log ends at {log.end_offset}, and begins anew at its snapshot's {end}"
                )
            log.truncate_fully_and_start_at(end, now_ms)
        for path in self.snapshots.forget_before(SnapshotId(log.start_offset, -1)):
            self._disk.remove(path)

    @property
    def end_offset(self) -> int:
        return self.log.end_offset

    @property
    def kraft_version(self) -> int:
        return self.quorum.kraft_version

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

    # Reading

    def replay(self, image: ClusterImage) -> None:
        """Everything that the snapshot and the log say, into an empty image."""
        offset = 0
        if self._newest is not None:
            snapshot_id, snapshot = self._newest
            self._newest = None
            offset = snapshot_id.end_offset
            self.quorum.read_snapshot(snapshot_id, snapshot)
            _apply_snapshot(image, snapshot_id, snapshot)
        for batch in self.batches_from(offset):
            self._bytes_since_snapshot += batch.size
            if batch.control:
                self.quorum.read_control(batch)
            _apply(image, batch)

    def batches_from(self, offset: int) -> Iterator[Batch]:
        """Whole and checked, and one behind the other: this log has no gaps, or it has lost something."""
        while offset < self.log.end_offset:
            begin = offset
            for batch in iterate_batches(self.log.read(offset, _READ_BYTES).read()):
                if batch.base_offset > offset:
                    break
                if batch.next_offset > offset:
                    batch.check()
                    yield batch
                    offset = batch.next_offset
            if offset == begin:
                raise MalformedFile(
                    self.directory,
                    None,
                    f"the records from offset {offset} on are missing, though the log ends at {self.log.end_offset}",
                    "restore the directory from a copy",
                )

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

    def snapshot_due(self, now_ms: int, max_bytes: int, max_interval_ms: int) -> bool:
        """By the bytes since the last one; or by the time (0: never), if there is anything new."""
        if self._bytes_since_snapshot >= max_bytes:
            return True
        waited_ms = now_ms - self.snapshot_ms
        return bool(max_interval_ms and self._bytes_since_snapshot and waited_ms >= max_interval_ms)

    @property
    def worth_a_snapshot(self) -> bool:
        """The next start would read more of the log than of a snapshot."""
        newest = self.snapshots.size(self.snapshots.ids[-1]) if self.snapshots.ids else 0
        return self._bytes_since_snapshot > max(newest, _SHORT_LOG_BYTES)

    def encode_snapshot(self, image: ClusterImage, now_ms: int) -> tuple[SnapshotId, Callable[[], None]]:
        """Of an image of all that is committed, which nobody changes any more. The work is for a thread: it writes the
        file, and then `snapshot_written` is to be called."""
        snapshot_id = SnapshotId(image.next_offset, image.epoch)
        kraft_version, voters = self.quorum.kraft_version, self.quorum.voters

        def work() -> None:
            data = encode_snapshot(
                snapshot_records(image),
                epoch=image.epoch,
                last_log_timestamp_ms=image.timestamp_ms,
                now_ms=now_ms,
                kraft_version=kraft_version,
                voters=voters,
            )
            self.snapshots.write(snapshot_id, data)

        self._bytes_at_snapshot = self._bytes_since_snapshot
        return snapshot_id, work

    def snapshot_written(self, snapshot_id: SnapshotId, now_ms: int) -> None:
        self.snapshots.add(snapshot_id)
        self._bytes_since_snapshot -= self._bytes_at_snapshot
        self.snapshot_ms = now_ms

    def clean(self, now_ms: int, max_bytes: int, max_ms: int) -> tuple[list[Segment], list[Path]]:
        """Forget what is more than is to be kept, oldest first (negative: keep all); the newest snapshot and what is
        behind it stays. What is returned is for a thread to remove."""
        snapshots = self.snapshots
        sizes = {one: snapshots.size(one) for one in snapshots.ids} if max_bytes >= 0 and len(snapshots.ids) > 1 else {}
        doomed: list[Path] = []
        while len(snapshots.ids) > 1:
            oldest, following = snapshots.ids[:2]
            too_large = max_bytes >= 0 and self.log.size + sum(sizes.values()) > max_bytes
            too_old = max_ms >= 0 and now_ms - snapshots.timestamp_ms(oldest) > max_ms
            if not (too_large or too_old):
                break
            sizes.pop(oldest, None)
            self.log.advance_start(following.end_offset)
            start = self.log.start_offset
            due = [one for one, after in pairwise(self.log.segments) if after.base_offset <= start]
            self.log.delete_segments(due)
            doomed += snapshots.forget_before(following)
        removed, self.log.removed = self.log.removed, []
        return removed, doomed

    def close(self) -> None:
        self.log.close()


def _apply_snapshot(image: ClusterImage, snapshot_id: SnapshotId, snapshot: Snapshot) -> None:
    end = snapshot_id.end_offset
    image.apply_batch(
        snapshot.records,
        end - len(snapshot.records),
        epoch=snapshot_id.epoch,
        timestamp_ms=snapshot.last_log_timestamp_ms,
    )
    image.next_offset = end


def _apply(image: ClusterImage, batch: Batch) -> None:
    if batch.control:
        image.next_offset = batch.next_offset
        image.epoch = batch.partition_leader_epoch
        return
    image.apply_batch(
        read_metadata_batch(batch),
        batch.base_offset,
        epoch=batch.partition_leader_epoch,
        timestamp_ms=batch.max_timestamp,
    )
