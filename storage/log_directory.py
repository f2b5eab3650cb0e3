"""One of a node's log directories: whose it is, which partitions' logs lie in it, and how it is left behind.

    path/meta.properties, .lock, .kafka_cleanshutdown, the four offset checkpoints
    path/TOPIC-N/           a partition, and what else directory_names.py knows

Opening takes the lock, reads what is there, and changes nothing. `load` then opens one log and touches nothing else, so
that whoever has threads may load many at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

from barnabas.protocol.schema import Uuid
from barnabas.storage.birth import Birth, NewNames
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
from barnabas.storage.compaction_checkpoint import CleanerCheckpoint
from barnabas.storage.directory_errors import UnknownDirectory
from barnabas.storage.directory_names import (
    LOCK,
    METADATA_TOPIC,
    NOBODYS,
    TopicPartition,
    is_worker_lock,
    marked_name,
    parse_directory,
)
from barnabas.storage.disk import Disk, Lock
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from barnabas.storage.partition_metadata import is_torn, read_partition_metadata, write_partition_metadata
from barnabas.storage.topic_config import TopicConfig

__all__ = [
    "LOCK",
    "METADATA_TOPIC",
    "LogDirectory",
    "LogPlace",
    "TopicPartition",
    "UnknownDirectory",
    "parse_directory",
]


class LogPlace(NamedTuple):
    """Where a log is and what is known of it before it is opened."""

    path: Path
    recovery_point: int | None
    """Below it nothing need be read; None for a log that was closed cleanly."""
    start_offset: int


def _make_safe(disk: Disk, path: Path) -> None:
    """Where the directory is missing. What is safe in one whose name is not is lost with it."""
    missing = [each for each in (path, *path.parents) if not disk.exists(each)]
    disk.make_directory(path)
    for each in missing:
        disk.sync_directory(each.parent)


class LogDirectory:
    """A log directory that is ours: its lock is held until `close` or `abandon`."""

    def __init__(
        self,
        disk: Disk,
        path: Path,
        *,
        holder: str,
        report: Callable[[str], None],
        producer_expiration_ms: int = 86_400_000,
    ) -> None:
        """`holder` is what another process is told about us that tries the same.

        Raises DiskLocked if another process has it, OSError and MalformedFile if it cannot be read, UnknownDirectory if
        it holds what is not Kafka's.
        """
        _make_safe(disk, path)
        self.disk = disk
        self.path = path
        self.report = report
        self.producer_expiration_ms = producer_expiration_ms
        self.logs: dict[TopicPartition, Log] = {}
        self.futures: dict[TopicPartition, Log] = {}
        """Copies that will replace the log in another directory of this node when they have caught up with it."""
        self.topic_ids: dict[TopicPartition, Uuid] = {}
        self.prepared: dict[TopicPartition, tuple[Uuid, Log]] = {}
        """Logs that are made and nobody's yet, until `create` asks for them."""
        self._ids_read: dict[Path, Uuid | None] = {}
        """Of logs that are not loaded, which are asked for them twice."""
        self.waiting: dict[TopicPartition, Path] = {}
        """Partitions that are here and have not been loaded."""
        self.waiting_futures: dict[TopicPartition, Path] = {}
        self.doomed: list[Path] = []
        """What a deletion has left behind; `remove_tree` finishes it."""
        self.strays: list[Path] = []
        """Which are left as they are."""
        self._new_names = NewNames(disk, path)
        self._lock: Lock | None = disk.lock(path / LOCK, holder)
        try:
            self._read(holder)
        except BaseException:
            self.abandon()
            raise

    def _read(self, holder: str) -> None:
        disk, path = self.disk, self.path
        for name in disk.names(path):
            if is_worker_lock(name):
                disk.lock(path / name, holder).release()
                disk.remove(path / name)
        self.meta: MetaProperties | None = read_meta_properties(disk, path)
        found = read_clean_shutdown(disk, path)
        self.was_clean = found is not None
        self.previous_broker_epoch = found.broker_epoch if found else None
        self._marker_is_there = self.was_clean
        # Kafka takes the directory offline where one of these cannot be read, and so does whoever opens this one.
        self._recovery_points = self._offsets(RECOVERY_POINT_OFFSET_CHECKPOINT)
        self._start_offsets = self._offsets(LOG_START_OFFSET_CHECKPOINT)
        self.high_watermarks = self._offsets(REPLICATION_OFFSET_CHECKPOINT)
        self.compacted = CleanerCheckpoint(disk, path)
        self._checkpointed = self._recovery_points.keys() | self._start_offsets.keys()
        self._recovered: set[TopicPartition] = set()
        self._look_around()

    def _offsets(self, name: str) -> dict[TopicPartition, int]:
        return {TopicPartition(*key): offset for key, offset in read_offsets(self.disk, self.path / name).items()}

    def _look_around(self) -> None:
        for name in self.disk.names(self.path):
            path = self.path / name
            if name in NOBODYS or not self.disk.is_directory(path):
                continue
            partition, mark = parse_directory(path)
            if mark == "delete":
                self.doomed.append(path)
            elif mark == "stray":
                self.strays.append(path)
            elif mark == "future":
                twin = self.waiting_futures.setdefault(partition, path)
                if twin != path:
                    raise UnknownDirectory(
                        f"{twin} and {path} are both copies of {partition}: delete one of them, or both, and the "
                        "partition is copied again when it is told to move."
                    )
            elif partition.topic != METADATA_TOPIC:
                self.waiting[partition] = path

    def __repr__(self) -> str:
        return f"LogDirectory({self.path}, {len(self.logs)} logs, {len(self.waiting)} waiting)"

    # The directory as a whole

    @property
    def id(self) -> Uuid:
        """Of one that is formatted."""
        assert self.meta is not None
        assert self.meta.directory_id is not None
        return self.meta.directory_id

    @property
    def is_empty(self) -> bool:
        """Nothing has ever been kept here: it may be made anybody's."""
        names = set(self.disk.names(self.path))
        return names <= {LOCK, "lost+found", META_PROPERTIES + ".tmp"}

    @property
    def partition_count(self) -> int:
        """Of the logs that are here, loaded or not, and copies."""
        loaded = len(self.logs) + len(self.futures) + len(self.prepared)
        return loaded + len(self.waiting) + len(self.waiting_futures)

    def format(self, meta: MetaProperties) -> None:
        write_meta_properties(self.disk, self.path, meta)
        self.meta = meta

    def begin(self) -> None:
        """Take away the marker of a clean stop before the first log is touched: if we end before we have closed
        everything, it was not one."""
        if self._marker_is_there:
            remove_clean_shutdown(self.disk, self.path)
            self._marker_is_there = False

    def write_checkpoints(self, high_watermarks: Mapping[TopicPartition, int]) -> None:
        """What the next start needs if this is the last that we can do. Partitions that have not been loaded keep
        theirs."""
        self.write_recovery_points()
        self._write_offsets(REPLICATION_OFFSET_CHECKPOINT, self.high_watermarks_with(high_watermarks))

    def write_recovery_points(self) -> None:
        """Also when logs are gone: one that gets the name of another must not get its recovery point."""
        recovery_points, start_offsets = self.recovery_points(), self.start_offsets()
        self._write_offsets(RECOVERY_POINT_OFFSET_CHECKPOINT, recovery_points)
        self._write_offsets(LOG_START_OFFSET_CHECKPOINT, start_offsets)
        self._checkpointed = recovery_points.keys() | start_offsets.keys()
        for _, log in self._loaded:
            log.checkpoints_unsaved = False

    # What is written there; whoever writes it in another way says so.

    def recovery_points(self) -> dict[TopicPartition, int]:
        unloaded = self._unloaded
        offsets = {key: offset for key, offset in self._recovery_points.items() if key in unloaded}
        offsets.update((partition, log.recovery_point) for partition, log in self._loaded)
        return offsets

    def start_offsets(self) -> dict[TopicPartition, int]:
        """Kafka writes only those that the first segment does not tell."""
        unloaded = self._unloaded
        offsets = {key: offset for key, offset in self._start_offsets.items() if key in unloaded}
        for partition, log in self._loaded:
            if log.start_offset > log.segments[0].base_offset:
                offsets[partition] = log.start_offset
        return offsets

    def high_watermarks_with(self, high_watermarks: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        known = {key: offset for key, offset in self.high_watermarks.items() if key in self._unloaded}
        return {**known, **high_watermarks}

    def note_checkpointed(self, partitions: Iterable[TopicPartition]) -> None:
        """These have a recovery point or a start in the files."""
        self._checkpointed |= set(partitions)

    @property
    def _loaded(self) -> list[tuple[TopicPartition, Log]]:
        return [*self.logs.items(), *self.futures.items()]

    @property
    def _unloaded(self) -> set[TopicPartition]:
        return self.waiting.keys() | self.waiting_futures.keys()

    def _write_offsets(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        write_offsets(self.disk, self.path / name, {(key.topic, key.partition): at for key, at in offsets.items()})

    def close(self, high_watermarks: Mapping[TopicPartition, int], broker_epoch: int = -1) -> None:
        """Leave everything as a clean stop does. The lock is given up in any case."""
        try:
            for log in [*self.logs.values(), *self.futures.values()]:
                log.close()
        except BaseException:
            self.abandon()
            raise
        self.finish(high_watermarks, broker_epoch)

    def finish(self, high_watermarks: Mapping[TopicPartition, int], broker_epoch: int = -1) -> None:
        """What comes after all logs have been closed. The marker is last: it vouches for all the rest, and is not
        written while a partition has not been loaded after a crash. The lock is given up in any case."""
        try:
            self.write_checkpoints(high_watermarks)
            if self.was_clean or not (self.waiting or self.waiting_futures):
                write_clean_shutdown(self.disk, self.path, broker_epoch)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Give up the lock and nothing else, as when the disk has failed."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def forget_logs(self) -> None:
        """The disk has failed: what lies on it is not to be found any more. Whoever still sends a part of a log holds
        its file; the directory stays locked, since we may have it open."""
        for some in (self.logs, self.futures, self.prepared, self.waiting, self.waiting_futures, self.topic_ids):
            some.clear()

    # Partitions

    def whatever_is_here(self) -> list[tuple[TopicPartition, bool]]:
        """Of what has been loaded, and whether it is a copy."""
        return [*((name, False) for name in self.logs), *((name, True) for name in self.futures)]

    def place(self, partition: TopicPartition, *, future: bool = False) -> LogPlace:
        """Of a log that has not been loaded."""
        is_whole = self.was_clean or partition in self._recovered
        return LogPlace(
            (self.waiting_futures if future else self.waiting)[partition],
            None if is_whole else self._recovery_points.get(partition, 0),
            self._start_offsets.get(partition, 0),
        )

    def mark_recovered(self, partition: TopicPartition, recovery_point: int) -> None:
        """Another process has made the log whole and closed it: `load` need not read it again."""
        self._recovery_points[partition] = recovery_point
        self._recovered.add(partition)

    def read_topic_id(self, partition: TopicPartition, *, future: bool = False) -> Uuid | None:
        """Of a log that has not been loaded; None where its directory does not say."""
        path = (self.waiting_futures if future else self.waiting)[partition]
        if path not in self._ids_read:
            try:
                self._ids_read[path] = read_partition_metadata(self.disk, path)
            except MalformedFile:
                # A new log of which nothing was promised to be safe, and a power cut.
                if not self._was_new(partition) or not is_torn(self.disk, path):
                    raise
                return None
        return self._ids_read[path]

    def _was_new(self, partition: TopicPartition) -> bool:
        """It may have been made and never synced: by a clean stop neither, if there was nothing in it."""
        recovery_point = self._recovery_points.get(partition)
        if self.was_clean:
            return recovery_point == 0
        return partition in self._recovered or not recovery_point

    def load(self, partition: TopicPartition, config: TopicConfig, now_ms: int, *, future: bool = False) -> Log:
        """Open a log that is waiting. It may raise OSError or MalformedFile, and then waits on."""
        self.begin()
        place = self.place(partition, future=future)
        topic_id = self.read_topic_id(partition, future=future)
        self._ids_read.pop(place.path, None)
        log = open_log(
            self.disk,
            place.path,
            config,
            now_ms=now_ms,
            clean=place.recovery_point is None,
            recovery_point=place.recovery_point or 0,
            start_offset=place.start_offset,
            producer_expiration_ms=self.producer_expiration_ms,
            report=self.report,
        )
        if topic_id is not None:
            self.topic_ids[partition] = topic_id
        if not future and self._was_new(partition):
            log.birth = Birth(self.disk, place.path, self._new_names)
        (self.futures if future else self.logs)[partition] = log
        (self.waiting_futures if future else self.waiting).pop(partition, None)
        return log

    def create(
        self, partition: TopicPartition, topic_id: Uuid, config: TopicConfig, now_ms: int, *, future_unique: str = ""
    ) -> Log:
        """A new and empty log, or with a unique name, a copy to be. Its topic's id is there before any record of it,
        and both are safe together."""
        known = (self.futures, self.waiting_futures) if future_unique else (self.logs, self.waiting)
        assert not any(partition in some for some in known), f"{partition} is in {self.path} already"
        prepared = None if future_unique else self.prepared.pop(partition, None)
        if prepared is not None and prepared[0] == topic_id:
            log = prepared[1]
            log.configure(config)
        else:
            log = self._make(partition, topic_id, config, now_ms, future_unique)
        (self.futures if future_unique else self.logs)[partition] = log
        self.topic_ids[partition] = topic_id
        return log

    def forget_namesakes(self, partitions: Iterable[TopicPartition]) -> None:
        """Recovery points of logs that are gone, before `prepare` makes others with their names. Not in its thread: a
        log that is cut while that writes would have its old one written last."""
        if not self._checkpointed.isdisjoint(partitions):
            self.write_recovery_points()

    def prepare(self, partition: TopicPartition, topic_id: Uuid, config: TopicConfig, now_ms: int) -> None:
        """The part of `create` that asks the disk, in any thread: nobody else knows of that log before it is created.
        What cannot be done now, `create` will try again."""
        known = (self.logs, self.waiting, self.prepared, self._checkpointed)
        if not any(partition in some for some in known):
            with suppress(OSError):
                self.prepared[partition] = topic_id, self._make(partition, topic_id, config, now_ms, "")

    def _make(
        self, partition: TopicPartition, topic_id: Uuid, config: TopicConfig, now_ms: int, future_unique: str
    ) -> Log:
        self.begin()
        if partition in self._checkpointed:
            self.write_recovery_points()
        path = self.path / (marked_name(partition, future_unique, "future") if future_unique else str(partition))
        is_ours = not self.disk.exists(path)
        try:
            return self._create(path, topic_id, config, now_ms, sync=bool(future_unique))
        except OSError:
            # A full disk may have room in a moment, and the partition another log by then: this would be a second one.
            if is_ours:
                with suppress(OSError):
                    self.disk.remove_tree(path)
            raise

    def _create(self, path: Path, topic_id: Uuid, config: TopicConfig, now_ms: int, *, sync: bool) -> Log:
        """A copy will be renamed, and is safe from the beginning."""
        self.disk.make_directory(path)
        write_partition_metadata(self.disk, path, topic_id, sync=sync)
        log = self._open_new(path, config, now_ms)
        if sync:
            self.disk.sync_directory(self.path)
        else:
            log.birth = Birth(self.disk, path, self._new_names)
        return log

    def _open_new(self, path: Path, config: TopicConfig, now_ms: int) -> Log:
        return open_log(
            self.disk,
            path,
            config,
            now_ms=now_ms,
            clean=True,
            producer_expiration_ms=self.producer_expiration_ms,
            report=self.report,
        )

    def delete(self, partition: TopicPartition, unique: str, *, future: bool = False) -> Path:
        """Take a log away under another name, at once; `disk.remove_tree` of what is returned takes its time. Whoever
        has deleted all that there is to delete calls `sync_names`: else a power cut brings logs back, as strays."""
        path = self._mark(partition, unique, "delete", future)
        self.doomed.append(path)
        return path

    def set_aside(self, partition: TopicPartition, unique: str, *, future: bool = False) -> Path:
        """Keep a log that the metadata does not know, or knows with another topic id, out of everybody's way."""
        path = self._mark(partition, unique, "stray", future)
        self.strays.append(path)
        self.sync_names()
        return path

    def sync_names(self) -> None:
        self.disk.sync_directory(self.path)

    def _mark(self, partition: TopicPartition, unique: str, mark: str, future: bool) -> Path:
        self.begin()
        waiting, loaded = (self.waiting_futures, self.futures) if future else (self.waiting, self.logs)
        log = loaded.get(partition)
        path = waiting[partition] if log is None else log.directory
        self._ids_read.pop(path, None)
        marked = self.path / marked_name(partition, unique, mark)
        with nullcontext() if log is None else log.epochs_file.moving(None):
            self.disk.rename(path, marked)
        waiting.pop(partition, None)
        loaded.pop(partition, None)
        self.topic_ids.pop(partition, None)
        return marked
