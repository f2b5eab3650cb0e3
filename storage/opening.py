"""Opening all log directories of a node, together: paths, locks, identities, and what is offline from the start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.directory_errors import UnknownDirectory, UnusableDirectories, explain
from barnabas.storage.disk import Disk
from barnabas.storage.formatting import Found, Node, check_paths, choose_identities
from barnabas.storage.log_directories import LogDirectories
from barnabas.storage.log_directory import METADATA_TOPIC, LogDirectory

__all__ = ["open_log_directories"]


def open_log_directories(
    disk: Disk,
    paths: Sequence[Path],
    node: Node,
    *,
    random_ids: Iterator[bytes],
    holder: str,
    report: Callable[[str], None],
    tell: Callable[[str], None] | None = None,
    metadata_directory: Path | None = None,
    producer_expiration_ms: int = 86_400_000,
) -> LogDirectories:
    """Lock, read, check and where they are empty format the directories; no log is touched.

    `paths` are log.dirs, absolute and without symbolic links; the metadata log's directory is the first of them unless
    it is given. `random_ids` gives random 16 bytes as often as it is asked. `report` is told what is amiss, `tell` (or
    `report`) what was formatted. Raises DiskLocked, which says who has a directory, and UnusableDirectories; then
    nothing is held and nothing was changed.
    """
    metadata_directory = metadata_directory or next(iter(paths), Path("/"))
    problems = check_paths(paths, metadata_directory)
    if problems:
        raise UnusableDirectories(problems)
    opening = _Opening(disk, holder, report, tell or report, producer_expiration_ms)
    try:
        for path in dict.fromkeys([*paths, metadata_directory]):
            opening.open(path)
        opening.identify(node, metadata_directory, random_ids)
        return opening.finish(paths, metadata_directory)
    except BaseException:
        for directory in opening.opened.values():
            directory.abandon()
        raise


class _Opening:
    def __init__(
        self,
        disk: Disk,
        holder: str,
        report: Callable[[str], None],
        tell: Callable[[str], None],
        producer_expiration_ms: int,
    ) -> None:
        self.disk = disk
        self.holder = holder
        self.report = report
        self.tell = tell
        self.producer_expiration_ms = producer_expiration_ms
        self.opened: dict[Path, LogDirectory] = {}
        self.offline: dict[Path, str] = {}
        self.problems: list[str] = []

    def open(self, path: Path) -> None:
        try:
            self.opened[path] = LogDirectory(
                self.disk,
                path,
                holder=self.holder,
                report=self.report,
                producer_expiration_ms=self.producer_expiration_ms,
            )
        except OSError as error:
            self._fail(path, explain(path, error))
        except MalformedFile as error:
            self._fail(path, str(error))
        except UnknownDirectory as error:
            self.problems.append(str(error))

    def _fail(self, path: Path, why: str) -> None:
        self.offline[path] = why
        self.report(f"log directory {path} is offline: {why}")
        directory = self.opened.pop(path, None)
        if directory is not None:
            directory.abandon()

    def identify(self, node: Node, metadata_directory: Path, random_ids: Iterator[bytes]) -> None:
        found = {}
        for path, directory in list(self.opened.items()):
            try:
                found[path] = Found(directory.meta, directory.is_empty)
                elsewhere = directory.path / f"{METADATA_TOPIC}-0"
                if path != metadata_directory and self.disk.exists(elsewhere):
                    self.problems.append(
                        f"{elsewhere} holds a log of the cluster's metadata, and metadata.log.dir is "
                        f"{metadata_directory}: set metadata.log.dir={path}, or delete the one that is out of date."
                    )
            except OSError as error:
                self._fail(path, explain(path, error))
        chosen, problems = choose_identities(found, list(self.offline), node, metadata_directory, random_ids)
        self.problems += problems
        if self.problems:
            raise UnusableDirectories(self.problems)
        for path, meta in chosen.items():
            try:
                self.opened[path].format(meta)
            except OSError as error:
                self._fail(path, explain(path, error))
                if path == metadata_directory:
                    # It comes first. If the others were formatted without it, the next start would miss its log.
                    return
            else:
                self.tell(f"{path} is formatted for node {meta.node_id} of cluster {meta.cluster_id}")

    def finish(self, paths: Sequence[Path], metadata_directory: Path) -> LogDirectories:
        if metadata_directory in self.offline:
            raise UnusableDirectories(
                [f"The node cannot start without its metadata log: {self.offline[metadata_directory]}"]
            )
        online = [self.opened[path] for path in paths if path in self.opened]
        if not online:
            raise UnusableDirectories(list(self.offline.values()))
        return LogDirectories(self.disk, online, self.offline, self.opened[metadata_directory], self.report)
