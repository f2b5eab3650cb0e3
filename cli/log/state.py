"""`barnabas log state`: who has led each partition when, by the metadata logs of one node or of several."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.cli.failures import CommandFailed
from barnabas.cli.log.cluster_log import METADATA_DIRECTORY
from barnabas.cli.log.leadership import Change, Leadership, NodeChange
from barnabas.cli.log.metadata_merging import Compared, NodeLog, Restored, merge
from barnabas.cli.log.open_files import allow_all_files
from barnabas.cli.log.places import DEFAULT_DATA
from barnabas.cli.log.sink import Sink
from barnabas.cli.log.state_words import HEADERS, cells, head_line, json_of, line_of, trouble_of, unlike
from barnabas.cli.output import table_lines
from barnabas.cli.partition_words import PartitionFilter, read_topic_and_numbers
from barnabas.cli.times import moment_ms
from barnabas.client.cluster import Partition as Name
from barnabas.protocol.batches import Batch
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.disk import SystemDisk
from barnabas.storage.meta_properties import read_meta_properties

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", metavar="DIR", nargs="*", type=Path, help="log directories of nodes, with their __cluster_metadata-0"
    )
    parser.add_argument("--data", metavar="DIR", action="append", type=Path, default=[], help="the same")
    parser.add_argument("--topic", metavar="PATTERN", help="only of these topics; a regular expression, or a,b")
    parser.add_argument("--partition", metavar="N,N", help="only of these partitions")
    parser.add_argument("--since", metavar="TIME", help="only from then on: a time, or 10m, 2h, 1d ago")
    parser.add_argument("--until", metavar="TIME", help="only before")
    parser.add_argument("--from-offset", metavar="OFFSET", type=int, help="only from this offset of the log on")
    parser.add_argument("--to-offset", metavar="OFFSET", type=int, help="only before this offset")
    parser.add_argument(
        "--leaders", action="store_true", help="only who leads: no changes of who is in sync, or of replicas"
    )
    parser.add_argument("--nodes", action="store_true", help="also what became of brokers and controllers")
    parser.add_argument("--by-partition", action="store_true", help="a table for each partition")
    parser.add_argument("--json", action="store_true", help="a JSON value a line, for programs")


def run(arguments: argparse.Namespace) -> int:
    allow_all_files()
    history = _History(arguments)
    try:
        return history.tell()
    except BrokenPipeError:
        raise
    except BaseException:
        history.sink.flush()
        raise


class _Wanted(NamedTuple):
    partitions: PartitionFilter
    since_ms: int | None
    until_ms: int | None
    first: int | None
    end: int | None
    leaders_alone: bool
    nodes: bool

    def takes(self, change: Change | NodeChange) -> bool:
        if self.first is not None and change.offset < self.first:
            return False
        if self.end is not None and change.offset >= self.end:
            return False
        if self.since_ms is not None and change.time_ms < self.since_ms:
            return False
        if self.until_ms is not None and change.time_ms >= self.until_ms:
            return False
        if isinstance(change, NodeChange):
            return self.nodes
        if not change.what or (self.leaders_alone and not _changes_leader(change)):
            return False
        return self.partitions.takes(Name(change.topic, change.number))


def _changes_leader(change: Change) -> bool:
    if change.before is None or change.after is None:
        return True
    return change.before.leader != change.after.leader


class _History:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.sink = Sink(as_json=arguments.json)
        self._logs = _logs(arguments)
        self._by_partition: dict[Name, list[Change]] | None = {} if arguments.by_partition else None
        self._headed = False
        self._troubles = 0
        since, until = arguments.since, arguments.until
        self._wanted = _Wanted(
            read_topic_and_numbers(arguments.topic, arguments.partition),
            since_ms=None if since is None else moment_ms(since, "--since"),
            until_ms=None if until is None else moment_ms(until, "--until"),
            first=arguments.from_offset,
            end=arguments.to_offset,
            leaders_alone=arguments.leaders,
            nodes=arguments.nodes,
        )

    def tell(self) -> int:
        """1 if the nodes do not agree, or not all can be read."""
        leadership = Leadership()
        for step in merge(self._logs):
            if isinstance(step, Batch):
                self._changes(leadership.read(step))
            elif isinstance(step, Restored):
                self._changes(leadership.restore(step.id, step.snapshot))
            elif isinstance(step, Compared):
                if different := leadership.compare(step.id, step.snapshot):
                    self._trouble(*unlike(step, different))
            else:
                self._trouble(*trouble_of(step))
            while leadership.refused:
                why = leadership.refused.pop(0)
                self._trouble(f"{why}; it is left out", {"kind": "refused", "why": why})
        for name, changes in sorted((self._by_partition or {}).items()):
            self._table(name, changes)
        if all(log.first_offset is None and not log.snapshots for log in self._logs):
            raise CommandFailed("There is nothing in the metadata log: has the node ever run?")
        self.sink.flush()
        return 1 if self._troubles else 0

    def _trouble(self, text: str, value: dict[str, Any]) -> None:
        self._troubles += 1
        self.sink.problem(text, value)

    def _changes(self, changes: Iterator[Change | NodeChange]) -> None:
        for change in changes:
            if not self._wanted.takes(change):
                continue
            self.sink.json(json_of(change))
            if self._by_partition is not None and isinstance(change, Change):
                self._by_partition.setdefault(Name(change.topic, change.number), []).append(change)
            elif not self.sink.as_json:
                self._line(change)

    def _line(self, change: Change | NodeChange) -> None:
        if not self._headed:
            self._headed = True
            self.sink.line(head_line())
        self.sink.line(line_of(change))

    def _table(self, name: Name, changes: Sequence[Change]) -> None:
        if self.sink.as_json:
            return
        self.sink.line(f"{name}")
        for line in table_lines(HEADERS, [cells(change) for change in changes]):
            self.sink.line(f"  {line}")
        self.sink.line("")


# Whose logs


def _logs(arguments: argparse.Namespace) -> list[NodeLog]:
    places: list[Path] = [*arguments.paths, *arguments.data] or [DEFAULT_DATA]
    found: list[NodeLog] = []
    for place in places:
        inner = place / METADATA_DIRECTORY
        directory = inner if inner.is_dir() else place
        if not directory.is_dir() or directory.resolve().name != METADATA_DIRECTORY:
            raise CommandFailed(
                f"{place} has no {METADATA_DIRECTORY}: name the directories of nodes in which their metadata log lies "
                "(metadata.log.dir, or the first of log.dirs)."
            )
        name = _name(directory.resolve().parent)
        taken = {log.name for log in found}
        found.append(NodeLog(str(directory) if name is None or name in taken else name, directory))
    return found


def _name(directory: Path) -> str | None:
    """By the node's id; the directories of two nodes may be called the same on their machines."""
    try:
        properties = read_meta_properties(SystemDisk(), directory)
    except (OSError, MalformedFile):
        return None
    return None if properties is None or properties.node_id is None else f"node {properties.node_id}"
