"""A metadata log on a disk of a test's, with topics in it that can be counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from barnabas.broker.metadata_log import metadata_log_config
from barnabas.broker.own_metadata_log import OwnMetadataLog
from barnabas.broker.quorum import voter
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.image_copy import copy_of
from barnabas.coordination.cluster.metadata_version import LATEST_METADATA_VERSION, METADATA_VERSION
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.protocol.records import cluster_metadata as r
from barnabas.protocol.schema import Data, Uuid
from barnabas.storage.disk import Disk

NOW_MS = 1_700_000_000_000
PARENT = Path("/data")
DIRECTORY = PARENT / "__cluster_metadata-0"
DIRECTORY_ID = Uuid(range(16))
ADDRESS = ("CONTROLLER", "localhost", 9093)


def ignore(_line: str) -> None:
    """Nobody asks what was mended."""


class Journal:
    """The log and the image that it tells."""

    def __init__(
        self,
        disk: Disk,
        *,
        static: bool = False,
        address: tuple[str, str, int] | None = ADDRESS,
        directory_id: Uuid = DIRECTORY_ID,
        now_ms: int = NOW_MS,
        segment_bytes: int = 1 << 20,
        report: Callable[[str], None] = ignore,
    ) -> None:
        disk.make_directory(PARENT)
        disk.sync_directory(PARENT.parent)
        self.disk = disk
        self.log = OwnMetadataLog(
            disk,
            PARENT,
            ours=voter(1, directory_id, [address] if address else []),
            static=static,
            config=metadata_log_config(segment_bytes, 1 << 40, 1 << 20),
            now_ms=now_ms,
            report=report,
        )
        self.image = ClusterImage()
        self.log.replay(self.image)

    def begin(self, now_ms: int = NOW_MS) -> Journal:
        self.log.begin_epoch(now_ms)
        self.image.next_offset, self.image.epoch = self.log.end_offset, self.log.epoch
        if self.image.metadata_version is None:
            self.append(r.FeatureLevelRecord(name=METADATA_VERSION, feature_level=int(LATEST_METADATA_VERSION)))
        return self

    def append(self, *messages: Data, now_ms: int = NOW_MS) -> None:
        records = [MetadataRecord(message) for message in messages]
        base_offset = self.log.append(records, now_ms)
        self.log.sync()
        self.image.apply_batch(records, base_offset, epoch=self.log.epoch, timestamp_ms=now_ms)

    def create(self, number: int, now_ms: int = NOW_MS) -> None:
        self.append(r.TopicRecord(name=f"topic-{number}", topic_id=Uuid(number.to_bytes(16, "big"))), now_ms=now_ms)

    @property
    def topics(self) -> list[int]:
        return [int(name.removeprefix("topic-")) for name in self.image.topics.by_name]

    def snapshot(self, now_ms: int = NOW_MS) -> str:
        snapshot_id, work = self.log.encode_snapshot(copy_of(self.image), now_ms)
        work()
        self.log.snapshot_written(snapshot_id, now_ms)
        return snapshot_id.file_name

    def clean(self, now_ms: int = NOW_MS, max_bytes: int = -1, max_ms: int = -1) -> None:
        segments, files = self.log.clean(now_ms, max_bytes, max_ms)
        for segment in segments:
            segment.remove()
        for path in files:
            self.disk.remove(path)

    @property
    def names(self) -> list[str]:
        return self.disk.names(DIRECTORY)

    @property
    def snapshot_names(self) -> list[str]:
        return [name for name in self.names if name.endswith(".checkpoint")]
