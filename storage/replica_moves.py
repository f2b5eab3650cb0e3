"""Moving a log from one directory of the node to another (AlterReplicaLogDirs), in steps that somebody calls.

    begin_move             an empty copy, TOPIC-N.<unique>-future, in the other directory
    copy_step              until there is nothing left
    finish_move            the copy takes the log's name and place, and the log becomes garbage
    abort_move             or the copy does

Kafka renames in this order too: what a crash between the two renames leaves is the log twice, and not none. It refuses
to start then, and names both.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.directory_names import TopicPartition, fits_as_future
from barnabas.storage.log import Log
from barnabas.storage.log_directories import AssignedDirectory, LogDirectories, Replica
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.replica_copies import cut_what_is_gone, is_caught_up, read_what_lacks, relocate, take_over
from barnabas.storage.topic_config import TopicConfig

__all__ = ["Moved", "abort_move", "begin_move", "copy_step", "finish_move", "promote_abandoned"]

COPY_BYTES = 1 << 20


class Moved(NamedTuple):
    log: Log
    garbage: Path
    """What `remove_tree` may take away: where the log was."""


def begin_move(
    directories: LogDirectories, partition: TopicPartition, path: Path, config: TopicConfig, now_ms: int, unique: str
) -> Replica | None:
    """The copy; None where there is nothing to begin: the log lies in that directory, or its copy does. A copy in a
    third directory is given up. For a partition that is not here, the directory is remembered until it is created."""
    target = _target(directories, partition, path, unique)
    current, future = directories.find(partition), directories.find(partition, future=True)
    if current is None:
        directories.prefer(partition, path)
        raise KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE, f"{partition} is not here")
    if future is not None and future.directory is not target:
        abort_move(directories, partition, unique)
    elif future is not None:
        return None
    if current.directory is target:
        return None
    if directories.offline:
        raise KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"{partition} is not copied, since there may be a copy in {', '.join(map(str, directories.offline))}",
        )
    topic_id = current.directory.topic_ids[partition]
    with directories.watching(target):
        return Replica(target.create(partition, topic_id, config, now_ms, future_unique=unique), target)


def _target(directories: LogDirectories, partition: TopicPartition, path: Path, unique: str) -> LogDirectory:
    if not fits_as_future(partition, unique):
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{partition.topic} is too long a name to be moved")
    target = directories.by_path(path)
    if target is None:
        if path in directories.offline:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, directories.offline[path])
        raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path} is not in log.dirs")
    if path in directories.cordoned:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{path} is cordoned")
    return target


def copy_step(directories: LogDirectories, current: Replica, future: Replica, max_bytes: int, now_ms: int) -> int:
    """Some of what the copy lacks, and how many bytes that was: none when there is nothing left. The directory whose
    disk fails goes offline, and the other one does not."""
    with directories.watching(future.directory):
        cut_what_is_gone(current.log, future.log, now_ms)
    with directories.watching(current.directory):
        batches = read_what_lacks(current.log, future.log, max_bytes)
    with directories.watching(future.directory):
        return take_over(current.log, future.log, batches, now_ms)


def abort_move(directories: LogDirectories, partition: TopicPartition, unique: str) -> Path | None:
    """What is left to delete, if there was a copy."""
    future = directories.find(partition, future=True)
    if future is None:
        return None
    with directories.watching(future.directory):
        garbage = future.directory.delete(partition, unique, future=True)
        future.directory.sync_names()
        return garbage


def finish_move(directories: LogDirectories, partition: TopicPartition, unique: str) -> Moved | None:
    """Let the copy take the place of the log; None, and nothing is done, while it has not caught up. Nobody may append
    meanwhile. What was safe stays safe: the copy is synced as far, if nobody has done it before.

    Readers who hold slices of the old log keep them."""
    current, future = directories.find(partition), directories.find(partition, future=True)
    if current is None or future is None:
        what = "log" if current is None else "copy"
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the {what} of {partition} is offline")
    if not is_caught_up(current.log, future.log):
        return None
    with directories.watching(future.directory):
        if future.log.recovery_point < current.log.recovery_point:
            work = future.log.unsynced()
            work.sync()
            future.log.synced(work)
        _promote(partition, future, current.directory)
    with directories.watching(current.directory):
        return Moved(future.log, _discard(partition, current.directory, unique))


def _promote(partition: TopicPartition, future: Replica, previous: LogDirectory | None) -> None:
    log, directory = future
    path = directory.path / str(partition)
    with log.epochs_file.moving(path):
        directory.disk.rename(log.directory, path)
    relocate(log, path)
    del directory.futures[partition]
    directory.logs[partition] = log
    directory.disk.sync_directory(directory.path)
    compacted = previous.compacted.offset(*partition) if previous is not None else None
    if compacted is not None:
        directory.compacted.set(*partition, compacted)


def _discard(partition: TopicPartition, directory: LogDirectory, unique: str) -> Path:
    garbage = directory.delete(partition, unique)
    directory.sync_names()
    directory.write_recovery_points()
    directory.compacted.keep_only({*directory.logs, *directory.futures, *directory.waiting})
    return garbage


def promote_abandoned(
    directories: LogDirectories, assigned: AssignedDirectory, unique_names: Iterator[str], now_ms: int
) -> list[Moved]:
    """After loading: a copy that lies where the metadata has the partition had caught up when the node was killed, or a
    disk failed, before it was put in place. What the log has got since is copied first, where it is still there."""
    done = []
    for directory in list(directories.online):
        for partition, log in list(directory.futures.items()):
            topic_id, meta = directory.topic_ids.get(partition), directory.meta
            if meta is None or topic_id is None or assigned(topic_id, partition.partition) != meta.directory_id:
                continue
            future = Replica(log, directory)
            if not _catch_up(directories, partition, future, now_ms):
                continue
            current = directories.find(partition)
            with directories.surviving(directory):
                _promote(partition, future, current.directory if current else None)
                directories.report(f"{log.directory}: the copy that had caught up before the last stop is the log now")
            if current is not None and current.directory is not directory and partition in directory.logs:
                with directories.surviving(current.directory):
                    done.append(Moved(log, _discard(partition, current.directory, next(unique_names))))
    return done


def _catch_up(directories: LogDirectories, partition: TopicPartition, future: Replica, now_ms: int) -> bool:
    """Whether the copy is there and holds all that there is of the log."""
    while (current := directories.find(partition)) is not None and not is_caught_up(current.log, future.log):
        try:
            copy_step(directories, current, future, COPY_BYTES, now_ms)
        except KafkaError as error:
            if directories.find(partition) is not None:
                directories.report(f"{future.log.directory}: this copy does not take the log's place: {error}")
                return False
    return future.directory.path not in directories.offline
