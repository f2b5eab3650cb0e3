"""One of a node's log directories: whose it is, which partitions' logs lie in it, and how it is left behind.

    path/meta.properties, .lock, .kafka_cleanshutdown, the four offset checkpoints
    path/TOPIC-N/                       a partition
    path/TOPIC-N.<unique>-delete/       one that is being deleted
    path/TOPIC-N.<unique>-stray/        one that nobody wants and nobody told us to delete
    path/TOPIC-N.<unique>-future/       one that is being copied from another directory of the node

Opening takes the lock and reads what is there; `load` then opens one log and touches nothing else, so that whoever has
threads may load many at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    MalformedFile,
    read_clean_shutdown,
    read_offsets,
    remove_clean_shutdown,
    write_clean_shutdown,
    write_offsets,
)
from barnabas.storage.disk import Disk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from barnabas.storage.partition_metadata import read_partition_metadata, write_partition_metadata
from barnabas.storage.topic_config import TopicConfig

__all__ = ["LOCK", "METADATA_TOPIC", "LogDirectory", "TopicPartition", "UnknownDirectory"]

LOCK = ".lock"
METADATA_TOPIC = "__cluster_metadata"
"""Its log belongs to the controller and is opened by it, not with the others."""

LONGEST_NAME = 255

_PARTITION = re.compile(r"(?P<topic>.+)-(?P<partition>[0-9]+)")
_MARKED = re.compile(r"(?P<name>.+)\.(?P<unique>[^.]+)-(?P<mark>delete|future|stray)")


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class UnknownDirectory(Exception):  # noqa: N818 - a state of the directory
    """Something lies in a log directory that Kafka would not have put there."""


def parse_directory(path: Path) -> tuple[TopicPartition, str]:
    """The partition, and "delete", "future", "stray", or nothing."""
    marked = _MARKED.fullmatch(path.name)
    found = _PARTITION.fullmatch(marked["name"] if marked else path.name)
    if found is None:
        raise UnknownDirectory(
            f"{path} is no partition's directory: only Kafka's own data may lie in a log directory; move it elsewhere."
        )
    return TopicPartition(found["topic"], int(found["partition"])), marked["mark"] if marked else ""


class LogDirectory:
    """A log directory that is ours: its lock is held until `close`."""

    def __init__(
        self,
        disk: Disk,
        path: Path,
        *,
        holder: str,
        report: Callable[[str], None],
        producer_expiration_ms: int = 86_400_000,
    ) -> None:
        """Raises DiskLocked if another process has it. `holder` is what it will be told about us.

        The marker of a clean stop is taken away at once: if we end before we have loaded everything, it was not one.
        """
        disk.make_directory(path)
        self.disk = disk
        self.path = path
        self.report = report
        self.producer_expiration_ms = producer_expiration_ms
        self._lock = disk.lock(path / LOCK, holder)
        self.meta: MetaProperties | None = read_meta_properties(disk, path)
        found = read_clean_shutdown(disk, path)
        self.was_clean = found is not None
        self.previous_broker_epoch = found.broker_epoch if found else None
        if self.was_clean:
            remove_clean_shutdown(disk, path)
        self._recovery_points = self._checkpoint(RECOVERY_POINT_OFFSET_CHECKPOINT)
        self._start_offsets = self._checkpoint(LOG_START_OFFSET_CHECKPOINT)
        self.high_watermarks = self._checkpoint(REPLICATION_OFFSET_CHECKPOINT)
        self.logs: dict[TopicPartition, Log] = {}
        self.topic_ids: dict[TopicPartition, Uuid] = {}
        self.waiting: dict[TopicPartition, Path] = {}
        """Partitions that are here and have not been loaded."""
        self.doomed: list[Path] = []
        """What a deletion has left behind; `remove_tree` finishes it."""
        self.others: list[Path] = []
        """Stray and future copies, which are left as they are."""
        self._look_around()

    def _checkpoint(self, name: str) -> dict[TopicPartition, int]:
        """Kafka too goes on without a checkpoint that cannot be read, and does more work for it."""
        try:
            offsets = read_offsets(self.disk, self.path / name)
        except MalformedFile as error:
            self.report(f"{error}; it is not used")
            return {}
        return {TopicPartition(*key): offset for key, offset in offsets.items()}

    def _look_around(self) -> None:
        for name in self.disk.names(self.path):
            path = self.path / name
            if not self.disk.is_directory(path):
                continue
            partition, mark = parse_directory(path)
            if mark == "delete":
                self.doomed.append(path)
            elif mark:
                self.others.append(path)
            elif partition.topic != METADATA_TOPIC:
                self.waiting[partition] = path

    # The directory as a whole

    @property
    def is_empty(self) -> bool:
        """Nothing has ever been kept here: it may be made anybody's."""
        names = set(self.disk.names(self.path)) - {LOCK, "lost+found"}
        return not names

    def format(self, meta: MetaProperties) -> None:
        write_meta_properties(self.disk, self.path, meta)
        self.meta = meta

    def write_checkpoints(self, high_watermarks: Mapping[TopicPartition, int]) -> None:
        """What the next start needs if this is the last that we can do. Partitions that have not been loaded keep
        theirs."""
        unloaded = self.waiting
        recovery_points = {key: offset for key, offset in self._recovery_points.items() if key in unloaded}
        start_offsets = {key: offset for key, offset in self._start_offsets.items() if key in unloaded}
        for partition, log in self.logs.items():
            recovery_points[partition] = log.recovery_point
            # Kafka writes only those that the first segment does not tell.
            if log.start_offset > log.segments[0].base_offset:
                start_offsets[partition] = log.start_offset
        known = {key: offset for key, offset in self.high_watermarks.items() if key in unloaded}
        for name, offsets in (
            (RECOVERY_POINT_OFFSET_CHECKPOINT, recovery_points),
            (LOG_START_OFFSET_CHECKPOINT, start_offsets),
            (REPLICATION_OFFSET_CHECKPOINT, {**known, **high_watermarks}),
        ):
            write_offsets(self.disk, self.path / name, {(key.topic, key.partition): at for key, at in offsets.items()})

    def close(self, high_watermarks: Mapping[TopicPartition, int], broker_epoch: int = -1) -> None:
        """Leave everything as a clean stop does. The marker comes last: it vouches for all the rest, and is not written
        while a partition has not been loaded after a crash."""
        for log in self.logs.values():
            log.close()
        self.write_checkpoints(high_watermarks)
        if self.was_clean or not self.waiting:
            write_clean_shutdown(self.disk, self.path, broker_epoch)
        self.abandon()

    def abandon(self) -> None:
        """Give up the lock and nothing else, as when the disk has failed."""
        self._lock.release()

    # Partitions

    def load(self, partition: TopicPartition, config: TopicConfig, now_ms: int) -> Log:
        """Open a log that `waiting` has. It may raise OSError, and then waits on."""
        path = self.waiting[partition]
        topic_id = read_partition_metadata(self.disk, path)
        log = open_log(
            self.disk,
            path,
            config,
            now_ms=now_ms,
            clean=self.was_clean,
            recovery_point=self._recovery_points.get(partition, 0),
            start_offset=self._start_offsets.get(partition, 0),
            producer_expiration_ms=self.producer_expiration_ms,
            report=self.report,
        )
        if topic_id is not None:
            self.topic_ids[partition] = topic_id
        self.logs[partition] = log
        del self.waiting[partition]
        return log

    def create(self, partition: TopicPartition, topic_id: Uuid, config: TopicConfig, now_ms: int) -> Log:
        """A new and empty log. Its topic's id is safe before there is any record of it."""
        path = self.path / str(partition)
        self.disk.make_directory(path)
        write_partition_metadata(self.disk, path, topic_id)
        self.disk.sync_directory(self.path)
        log = open_log(
            self.disk,
            path,
            config,
            now_ms=now_ms,
            clean=True,
            producer_expiration_ms=self.producer_expiration_ms,
            report=self.report,
        )
        self.logs[partition] = log
        self.topic_ids[partition] = topic_id
        return log

    def delete(self, partition: TopicPartition, unique: str) -> Path:
        """Take a log away under another name, at once; `disk.remove_tree` of what is returned takes its time."""
        path = self._mark(partition, unique, "delete")
        self.doomed.append(path)
        return path

    def set_aside(self, partition: TopicPartition, unique: str) -> Path:
        """Keep a log that the metadata does not know, or knows with another topic id, out of everybody's way."""
        path = self._mark(partition, unique, "stray")
        self.others.append(path)
        return path

    def _mark(self, partition: TopicPartition, unique: str, mark: str) -> Path:
        ending = f"-{partition.partition}.{unique}-{mark}"
        marked = self.path / (partition.topic[: LONGEST_NAME - len(ending)] + ending)
        path = self.waiting.pop(partition, None) or self.path / str(partition)
        self.disk.rename(path, marked)
        self.disk.sync_directory(self.path)
        self.logs.pop(partition, None)
        self.topic_ids.pop(partition, None)
        return marked
