"""All log directories of a node: which are there, which have failed, and where each partition lies.

A disk that fails takes one directory with it and not the node. Only when the directory of the metadata log is gone, or
all of them, `must_stop` says why the node cannot go on. A node opens its directories, learns from the metadata what
should be in them, and then loads:

    directories = open_log_directories(disk, paths, ...)
    directories.set_aside_strays(assigned_directory, unique_names)
    plan = directories.plan_loading()
    for piece in plan.pieces: directories.load(piece, config, now_ms)       # in any order, by any thread
    replica_moves.promote_abandoned(directories, assigned_directory, unique_names, now_ms)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from barnabas.protocol.directory_ids import UNASSIGNED
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.directory_errors import UnusableDirectories, explain, is_failure
from barnabas.storage.disk import Disk
from barnabas.storage.load_plan import LoadPlan, Piece, plan_loading
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory, TopicPartition
from barnabas.storage.recovery_worker import RecoveredPartition, RecoveryJob
from barnabas.storage.topic_config import TopicConfig

__all__ = ["AssignedDirectory", "LogDirectories", "NewPartition", "Replica", "own_high_watermarks"]

AssignedDirectory = Callable[[Uuid, int], Uuid | None]
"""What the metadata says of a topic id and partition: the id of the directory in which this node should have it, which
may be a reserved one; None where this node should have no replica."""


class Replica(NamedTuple):
    """A log and where it lies."""

    log: Log
    directory: LogDirectory


class NewPartition(NamedTuple):
    """What is to be created, and where the metadata assigns it."""

    partition: TopicPartition
    topic_id: Uuid
    config: TopicConfig
    directory_id: Uuid | None


class LogDirectories:
    """Made by `open_log_directories`. `online` are those that may hold partitions, in the order of log.dirs."""

    def __init__(
        self,
        disk: Disk,
        online: Sequence[LogDirectory],
        offline: Mapping[Path, str],
        metadata_directory: LogDirectory,
        report: Callable[[str], None],
    ) -> None:
        self.disk = disk
        self.online = list(online)
        self.offline = dict(offline)
        """Why each of the others cannot be used: a sentence. DescribeLogDirs says KAFKA_STORAGE_ERROR of them."""
        self.metadata = metadata_directory
        self.report = report
        self.cordoned: set[Path] = set()
        """Directories that get no new partitions."""
        self.on_offline: Callable[[Path, Sequence[TopicPartition]], None] | None = None
        """Told of each that is taken offline, and which partitions are gone with it."""
        self._preferred: dict[TopicPartition, Path] = {}
        self._held = list({id(each): each for each in (*online, metadata_directory)}.values())
        """Every directory whose lock we have, also those that failed since."""

    # Looking up

    def find(self, partition: TopicPartition, *, future: bool = False) -> Replica | None:
        for directory in self.online:
            log = (directory.futures if future else directory.logs).get(partition)
            if log is not None:
                return Replica(log, directory)
        return None

    def by_id(self, directory_id: Uuid | None) -> LogDirectory | None:
        known = ((each.meta.directory_id, each) for each in self.online if each.meta is not None)
        return next((each for found, each in known if found is not None and found == directory_id), None)

    def by_path(self, path: Path) -> LogDirectory | None:
        return next((each for each in self.online if each.path == path), None)

    @property
    def cordoned_ids(self) -> list[Uuid]:
        return [
            each.meta.directory_id
            for each in self.online
            if each.path in self.cordoned and each.meta and each.meta.directory_id
        ]

    @property
    def previous_broker_epoch(self) -> int | None:
        """In which the node stopped cleanly the last time, if all of its directories say the same."""
        epochs = {each.previous_broker_epoch for each in self.online}
        return epochs.pop() if len(epochs) == 1 and not self.offline else None

    @property
    def offline_ids(self) -> list[Uuid]:
        """Of those that failed since the start."""
        metas = [each.meta for each in self._held if each.path in self.offline]
        return [meta.directory_id for meta in metas if meta is not None and meta.directory_id is not None]

    @property
    def must_stop(self) -> str | None:
        """Why the node cannot go on, if it cannot."""
        if self.metadata.path in self.offline:
            return f"the directory of the metadata log has failed: {self.offline[self.metadata.path]}"
        if not self.online:
            return "no log directory is left: " + " ".join(self.offline.values())
        return None

    # Failing

    def take_offline(self, path: Path, why: str) -> list[TopicPartition]:
        """Until the next start: the disk has failed. What partitions are gone with it; copies in it are gone too.

        Its lock stays ours, for its files may still be open."""
        if path in self.offline:
            return []
        self.offline[path] = why
        self.report(f"log directory {path} is offline: {why}")
        lost: list[TopicPartition] = []
        for directory in [each for each in self._held if each.path == path]:
            lost += [*directory.logs, *directory.waiting]
            directory.forget_logs()
        self.online = [each for each in self.online if each.path != path]
        if self.on_offline is not None:
            self.on_offline(path, lost)
        return lost

    @contextmanager
    def watching(self, directory: LogDirectory) -> Iterator[None]:
        """What is done with logs of a directory: if its disk fails in it, the directory goes offline, and whoever asked
        is told KAFKA_STORAGE_ERROR. A full disk has not failed: what it has can be read and deleted."""
        try:
            yield
        except (OSError, KafkaError, MalformedFile) as error:
            cause = error.__cause__ if isinstance(error, KafkaError) else error
            if isinstance(cause, MalformedFile):
                self.take_offline(directory.path, str(cause))
            elif isinstance(cause, OSError) and is_failure(cause):
                self.take_offline(directory.path, explain(directory.path, cause))
            if isinstance(error, KafkaError):
                raise
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{directory.path}: {error}") from error

    @contextmanager
    def surviving(self, directory: LogDirectory) -> Iterator[None]:
        """The same where nobody asked, and one directory comes after the other: what failed is reported."""
        try:
            with self.watching(directory):
                yield
        except KafkaError as error:
            if directory.path not in self.offline:
                self.report(str(error))

    # Loading

    def set_aside_strays(self, assigned: AssignedDirectory, unique_names: Iterator[str]) -> list[Path]:
        """Before anything is loaded: logs without a topic id, and those that the metadata does not know or gives to
        others, get out of the way. A partition that is then left in two directories is refused."""
        aside: list[Path] = []
        for directory in list(self.online):
            with self.surviving(directory):
                for partition, future in _strays(directory, assigned):
                    aside.append(directory.set_aside(partition, next(unique_names), future=future))
        for path in aside:
            self.report(f"{path}: the metadata does not know this replica, or gives it to other nodes: it is set aside")
        self._refuse_duplicates()
        return aside

    def _refuse_duplicates(self) -> None:
        places: dict[tuple[TopicPartition, bool], Path] = {}
        problems = []
        for directory in self.online:
            for future, waiting in ((False, directory.waiting), (True, directory.waiting_futures)):
                for partition, path in waiting.items():
                    first = places.setdefault((partition, future), path)
                    if first != path:
                        problems.append(
                            f"{partition} is in {first} and in {path}: delete one of the two directories; if one of "
                            "these disks has failed lately, the one that lies there is older."
                        )
        if problems:
            raise UnusableDirectories(problems)

    def plan_loading(self) -> LoadPlan:
        return plan_loading(self.online)

    def load(self, piece: Piece, config: TopicConfig, now_ms: int) -> Log | None:
        """None if it cannot be had now: mostly its directory is offline, or goes offline with this."""
        directory = self.by_path(piece.directory)
        if directory is not None:
            waiting = directory.waiting_futures if piece.future else directory.waiting
            if piece.partition in waiting:
                with self.surviving(directory):
                    directory.load(piece.partition, config, now_ms, future=piece.future)
            return (directory.futures if piece.future else directory.logs).get(piece.partition)
        return None

    def recovery_job(self, piece: Piece, config: TopicConfig, now_ms: int) -> RecoveryJob:
        """For a worker process. The marker of a clean stop is not there, or there would be nothing to recover."""
        assert piece.place.recovery_point is not None, piece
        expiration_ms = self.online[0].producer_expiration_ms
        return RecoveryJob(
            path=piece.place.path,
            config=config,
            recovery_point=piece.place.recovery_point,
            start_offset=piece.place.start_offset,
            now_ms=now_ms,
            producer_expiration_ms=expiration_ms,
        )

    def mark_recovered(self, piece: Piece, recovered: RecoveredPartition) -> None:
        """A worker has made the log whole: `load` need not read it again."""
        directory = self.by_path(piece.directory)
        if directory is not None:
            directory.mark_recovered(piece.partition, recovered.recovery_point)

    # Creating

    def prefer(self, partition: TopicPartition, path: Path) -> None:
        """Where a partition shall be created that is not there yet. Kafka forgets it with a restart, too."""
        if not any(
            found is not None and found.directory.path == path
            for found in (self.find(partition), self.find(partition, future=True))
        ):
            self._preferred[partition] = path

    def may_be_offline(self, directory_id: Uuid | None) -> bool:
        """Whether a partition that is not found may lie in a directory that cannot be read, by what the metadata says
        of it: not if it has been in none yet, or in one that can."""
        return bool(self.offline) and directory_id != UNASSIGNED and self.by_id(directory_id) is None

    def candidates(self) -> list[LogDirectory]:
        """For a new partition: those with the fewest first. If all are cordoned, the first one has to do."""
        open_ones = [each for each in self.online if each.path not in self.cordoned]
        return sorted(open_ones, key=lambda each: each.partition_count) or self.online[:1]

    def create(
        self,
        partition: TopicPartition,
        topic_id: Uuid,
        config: TopicConfig,
        now_ms: int,
        *,
        is_new: bool,
        directory_id: Uuid | None = None,
    ) -> Replica:
        """The log of the partition, or a new one: where it is preferred, where the metadata assigns it (a reserved id
        leaves the choice), or in the directory with the fewest. One that is not new here may lie in a directory that is
        offline, and is not created beside it."""
        there = self._find_for(partition, topic_id)
        if there is not None:
            return there
        if not is_new and self.may_be_offline(directory_id):
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"{partition} is not created, since it may be in {', '.join(map(str, sorted(self.offline)))}, which "
                "cannot be read",
            )
        for directory in self._places_for(partition, directory_id):
            try:
                with self.watching(directory):
                    log = directory.create(partition, topic_id, config, now_ms)
            except KafkaError as error:
                refusal = error
            else:
                self._preferred.pop(partition, None)
                return Replica(log, directory)
        if not self.online:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{partition}: every log directory is offline")
        raise refusal

    def forget_namesakes(self, partitions: Sequence[TopicPartition]) -> None:
        """Before `prepare`, by whoever changes logs."""
        for directory in list(self.online):
            with self.surviving(directory):
                directory.forget_namesakes(partitions)

    def prepare(self, new: Iterable[NewPartition], now_ms: int) -> None:
        """What asks the disk, in any thread, so that creating them after that takes no time. Whatever goes wrong goes
        wrong again then, and is seen to."""
        for partition, topic_id, config, directory_id in new:
            for directory in self._places_for(partition, directory_id)[:1]:
                directory.prepare(partition, topic_id, config, now_ms)

    def _places_for(self, partition: TopicPartition, directory_id: Uuid | None) -> list[LogDirectory]:
        """Where it may be created, the best place first."""
        for directory in self.online:
            if partition in directory.prepared:
                return [directory]
        assigned = self.by_id(directory_id)
        preferred = self.by_path(self._preferred[partition]) if partition in self._preferred else assigned
        return [preferred] if preferred is not None else self.candidates()

    def _find_for(self, partition: TopicPartition, topic_id: Uuid) -> Replica | None:
        found = self.find(partition)
        if found is None:
            for directory in self.online:
                if partition in directory.waiting:
                    raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{directory.waiting[partition]} is not loaded")
            return None
        known = found.directory.topic_ids.get(partition)
        if known != topic_id:
            raise KafkaError(
                ErrorCode.INCONSISTENT_TOPIC_ID, f"{found.log.directory} is of topic id {known}, and not {topic_id}"
            )
        return found

    # Ending

    def write_checkpoints(self, high_watermarks: Mapping[TopicPartition, int]) -> None:
        """Each directory its own. One that cannot be written to goes offline, and the others get theirs."""
        for directory in list(self.online):
            with self.surviving(directory):
                directory.write_checkpoints(own_high_watermarks(directory, high_watermarks))

    def close(self, high_watermarks: Mapping[TopicPartition, int], broker_epoch: int = -1) -> None:
        """Cleanly, each directory on its own and its marker last. One that has failed gets none."""
        for directory in list(self.online):
            with self.surviving(directory):
                directory.close(own_high_watermarks(directory, high_watermarks), broker_epoch)
        self.abandon()

    def abandon(self) -> None:
        """Give up every lock and nothing else, as after a failed start."""
        for directory in self._held:
            directory.abandon()


def _strays(directory: LogDirectory, assigned: AssignedDirectory) -> list[tuple[TopicPartition, bool]]:
    """Partitions, and whether it is the copy. A log without a topic id has nothing that was promised to be safe: the id
    is there before any record, and safe with the first."""
    found = []
    for future, waiting in ((False, directory.waiting), (True, directory.waiting_futures)):
        for partition in waiting:
            topic_id = directory.read_topic_id(partition, future=future)
            if topic_id is None or assigned(topic_id, partition.partition) is None:
                found.append((partition, future))
    return found


def own_high_watermarks(
    directory: LogDirectory, high_watermarks: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Of the logs that lie there; a copy's is no higher than it has come."""
    own = {partition: high_watermarks[partition] for partition in directory.logs if partition in high_watermarks}
    for partition, log in directory.futures.items():
        if partition in high_watermarks:
            own[partition] = min(high_watermarks[partition], log.end_offset)
    return own
