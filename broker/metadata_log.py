"""`__cluster_metadata-0`: the log of the cluster's metadata and its snapshots, as every node has them.

Here is what is the same for whoever leads the quorum and whoever follows it; a controller writes the log
(own_metadata_log.py), a broker alone follows it (metadata_replica.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.metadata_snapshots import MetadataSnapshots
from barnabas.broker.quorum import Quorum
from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.log_batch import read_metadata_batch
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.snapshot_file import Snapshot, SnapshotId, encode_snapshot
from barnabas.coordination.cluster.snapshot_records import snapshot_records
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.records.control import VotersRecordVoter
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.disk import Disk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.log_directory import METADATA_TOPIC
from barnabas.storage.segment import Segment
from barnabas.storage.topic_config import TopicConfig

__all__ = ["METADATA_TOPIC_ID", "MetadataLog", "apply_snapshot", "metadata_log_config"]

METADATA_TOPIC_ID = Uuid((1).to_bytes(16, "big"))
"""The same in every cluster."""

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


class ReadBatch(NamedTuple):
    batch: Batch
    records: Sequence[MetadataRecord]
    """None of a control batch."""


class MetadataLog:
    """Open it, and `replay` it."""

    def __init__(
        self,
        disk: Disk,
        parent: Path,
        *,
        ours: VotersRecordVoter,
        static_voters: Iterable[int] | None = None,
        config: TopicConfig,
        now_ms: int,
        report: Callable[[str], None],
    ) -> None:
        """`ours` is this node as it votes, or would; `static_voters` are the others of controller.quorum.voters."""
        self._disk = disk
        self._report = report
        self.directory = parent / f"{METADATA_TOPIC}-0"
        self._format(now_ms)
        self.quorum = Quorum(disk, self.directory, ours, static_voters)
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

    def _format(self, now_ms: int) -> None:  # noqa: ARG002 - whoever begins a log writes when
        """What has to be there before the log is opened."""
        self._disk.make_directory(self.directory)
        self._disk.sync_directory(self.directory.parent)

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

    # Reading

    def replay(self, image: ClusterImage) -> None:
        """Everything that the snapshot and the log say, into an empty image."""
        self.replay_snapshot(image)
        self.replay_log(image, self.log.end_offset)

    def replay_snapshot(self, image: ClusterImage) -> None:
        """Into an empty image: what the newest snapshot says that could be read at the start."""
        if self._newest is not None:
            snapshot_id, snapshot = self._newest
            self._newest = None
            self.quorum.read_snapshot(snapshot_id, snapshot)
            apply_snapshot(image, snapshot_id, snapshot)

    def replay_log(self, image: ClusterImage, end_offset: int) -> None:
        """What the image has not heard of yet, up to there."""
        self.apply(image, self.read_log(image.next_offset, end_offset))

    def read_log(self, offset: int, end_offset: int) -> Iterator[ReadBatch]:
        for batch in self.batches_from(offset, end_offset):
            yield ReadBatch(batch, tuple(read_metadata_batch(batch)))

    def apply(self, image: ClusterImage, read: Iterable[ReadBatch]) -> ImageDelta:
        """What follows upon what the image has."""
        delta = ImageDelta()
        for batch, records in read:
            self._bytes_since_snapshot += batch.size
            if batch.control:
                self.quorum.read_control(batch)
                image.next_offset = batch.next_offset
                image.epoch = batch.partition_leader_epoch
                continue
            image.apply_batch(
                records,
                batch.base_offset,
                epoch=batch.partition_leader_epoch,
                timestamp_ms=batch.max_timestamp,
                delta=delta,
            )
        return delta

    def batches_from(self, offset: int, end_offset: int) -> Iterator[Batch]:
        """Whole and checked, and one behind the other: this log has no gaps, or it has lost something."""
        while offset < end_offset:
            begin = offset
            for batch in iterate_batches(self.log.read(offset, _READ_BYTES, end_offset=end_offset).read()):
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


def apply_snapshot(image: ClusterImage, snapshot_id: SnapshotId, snapshot: Snapshot) -> None:
    end = snapshot_id.end_offset
    image.apply_batch(
        snapshot.records,
        end - len(snapshot.records),
        epoch=snapshot_id.epoch,
        timestamp_ms=snapshot.last_log_timestamp_ms,
    )
    image.next_offset = end
