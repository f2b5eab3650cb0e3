"""The cluster as its metadata log tells it: `__cluster_metadata-0` of a log directory, read without a broker."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from barnabas.cli.failures import CommandFailed
from barnabas.cli.log.files import LogFile, partition_files
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.log_batch import read_metadata_batch
from barnabas.coordination.cluster.records import UnreplayableRecord
from barnabas.coordination.cluster.snapshot_file import SnapshotId, decode_snapshot
from barnabas.protocol.errors import MalformedFrame

__all__ = ["METADATA_DIRECTORY", "find_metadata", "read_image", "read_snapshot"]

METADATA_DIRECTORY = "__cluster_metadata-0"


def find_metadata(directories: Iterable[Path]) -> Path | None:
    """The log directory, or the one beside a partition, that has the metadata's log."""
    return next((each / METADATA_DIRECTORY for each in directories if (each / METADATA_DIRECTORY).is_dir()), None)


def read_image(directory: Path) -> ClusterImage:
    """From the newest snapshot that can be read, and what is behind it. A torn end, of a broker that writes there now,
    is where it ends."""
    image = ClusterImage()
    snapshots = sorted(filter(None, (SnapshotId.parse(path.name) for path in directory.iterdir())), reverse=True)
    for snapshot in snapshots:
        try:
            read_snapshot(image, directory / snapshot.file_name)
        except (MalformedFrame, FileNotFoundError):
            continue
        break
    try:
        for path in partition_files(directory, first=image.next_offset):
            _replay(image, path)
    except (MalformedFrame, UnreplayableRecord) as error:
        raise CommandFailed(f"{directory} cannot be read ({error}): barnabas log verify tells more.") from None
    return image


def read_snapshot(image: ClusterImage, path: Path) -> None:
    snapshot = decode_snapshot(path.read_bytes())
    snapshot_id = SnapshotId.parse(path.name) or SnapshotId(0, 0)
    image.apply_batch(snapshot.records, 0, epoch=snapshot_id.epoch, timestamp_ms=snapshot.last_log_timestamp_ms)
    image.next_offset = snapshot_id.end_offset


def _replay(image: ClusterImage, path: Path) -> None:
    with LogFile(path) as log:
        for _, batch in log.batches():
            if batch.last_offset < image.next_offset:
                continue
            batch.check()
            if batch.control:
                image.next_offset, image.epoch = batch.next_offset, batch.partition_leader_epoch
                continue
            records = read_metadata_batch(batch)
            image.apply_batch(
                records, batch.base_offset, epoch=batch.partition_leader_epoch, timestamp_ms=batch.max_timestamp
            )
