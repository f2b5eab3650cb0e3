"""`barnabas log verify`: every check of a log directory that changes nothing; what is wrong, and what a start would do.

What a start would do is not guessed: it is rehearsed, on a disk that keeps all changes in memory.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from barnabas.cli.log.checking import Checked, check_offsets, check_partition
from barnabas.cli.log.findings import Finding
from barnabas.cli.log.open_files import allow_all_files
from barnabas.cli.log.places import add_place_arguments, is_partition, partition_directories, places_of
from barnabas.cli.log.rehearsal import Rehearsal
from barnabas.cli.log.settings import Settings, add_config_argument, directories_of, properties_of
from barnabas.cli.output import Output, Progress, add_output_arguments, progress
from barnabas.cli.units import counted, size_text
from barnabas.storage.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    MalformedFile,
    read_clean_shutdown,
    read_offsets,
)
from barnabas.storage.directory_errors import UnknownDirectory
from barnabas.storage.directory_names import LOCK, METADATA_TOPIC, NOBODYS, TopicPartition, parse_directory
from barnabas.storage.disk import ReadOnlyDisk, is_locked
from barnabas.storage.meta_properties import META_PROPERTIES, check_directories, read_meta_properties

__all__ = ["add_arguments", "run"]

_LOOKS_AGAIN = 3
_PAUSE_S = 0.05
_CHECKPOINTS = {
    RECOVERY_POINT_OFFSET_CHECKPOINT: ("is synced up to", "the end of the log counts"),
    REPLICATION_OFFSET_CHECKPOINT: ("has the high watermark", "the end of the log counts"),
    LOG_START_OFFSET_CHECKPOINT: ("begins at", "the log begins anew there, and what it has is deleted"),
    CLEANER_OFFSET_CHECKPOINT: ("is compacted up to", "all of it is taken for dirty"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_place_arguments(parser, "what to check: a log directory, or a partition's")
    parser.add_argument("--deep", action="store_true", help="unpack the records of every batch too, which takes longer")
    add_config_argument(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    output = Output(as_json=arguments.json)
    allow_all_files()
    properties = properties_of(arguments)
    places = places_of(arguments, required=not properties) or directories_of(properties)
    settings = Settings(properties, places)
    wanted: dict[Path, list[Path]] = {}
    for place in places:
        for directory in partition_directories(place, arguments):
            wanted.setdefault(directory.resolve().parent, []).append(directory.resolve())
    whole = [place.resolve() for place in places if not is_partition(place)]
    total = sum(_size(directory) for directories in wanted.values() for directory in directories)
    with progress("checking", total) as bar:
        verifications = [
            Verification(root, directories, settings, bar, deep=arguments.deep, whole=root in whole)
            for root, directories in wanted.items()
        ]
    findings = [each for one in verifications for each in one.told]
    findings += [(finding, []) for finding in _together([one.root for one in verifications])]
    if output.as_json:
        output.json(_as_json(verifications, findings, total))
    else:
        _show(verifications, findings, total, output)
    return 1 if findings else 0


Told = tuple[Finding, list[str]]
"""With what a start says while it mends it; nothing where it does not notice."""


class Verification:
    """Of some partitions of one log directory; or, `whole`, of the directory itself too."""

    def __init__(
        self, root: Path, directories: Sequence[Path], settings: Settings, bar: Progress, *, deep: bool, whole: bool
    ) -> None:
        self.root = root
        self.in_use = is_locked(root / LOCK)
        disk = ReadOnlyDisk()
        clean = read_clean_shutdown(disk, root) is not None
        own: list[Finding] = []
        offsets = {name: self._offsets(name, own) for name in _CHECKPOINTS}
        starts, recovery_points = offsets[LOG_START_OFFSET_CHECKPOINT], offsets[RECOVERY_POINT_OFFSET_CHECKPOINT]
        self.checked: list[Checked] = []
        for directory in directories:
            partition, _ = parse_directory(directory)

            def check(
                advance: Callable[[int], None], directory: Path = directory, partition: TopicPartition = partition
            ) -> Checked:
                return check_partition(
                    directory,
                    partition,
                    settings,
                    advance,
                    start_offset=starts.get(partition, 0),
                    in_use=self.in_use,
                    clean=clean,
                    # Nobody trusts that the metadata log was closed.
                    recovery_point=(
                        0 if partition.topic == METADATA_TOPIC else None if clean else recovery_points.get(partition, 0)
                    ),
                    deep=deep,
                )

            checked = check(bar.advance)
            if self.in_use:
                checked = _lasting(checked, check)
            self.checked.append(checked)
        for name, (what, then) in _CHECKPOINTS.items():
            own += check_offsets(root / name, what, then, offsets[name], self.checked)
        if whole:
            own += _check_root(root)
        findings = [*own, *(each for one in self.checked for each in one.findings)]
        self.told: list[Told] = [(each, []) for each in findings]
        if findings and not self.in_use:
            rehearsal = Rehearsal(root, [one.partition for one in self.checked if one.findings], settings)
            self.told = [(each, rehearsal.lines_of(each)) for each in findings]

    def _offsets(self, name: str, findings: list[Finding]) -> dict[tuple[str, int], int]:
        try:
            return read_offsets(ReadOnlyDisk(), self.root / name)
        except MalformedFile as error:
            then = f"a start leaves the whole directory out: {error.remedy}"
            findings.append(Finding(error.path, None, f"line {error.line}: {error.reason}", then))
            return {}


def _lasting(checked: Checked, check: Callable[[Callable[[int], None]], Checked]) -> Checked:
    """What is being written, or deleted, may look wrong for a moment; what is wrong looks so every time."""
    for _ in range(_LOOKS_AGAIN):
        if not checked.findings:
            break
        time.sleep(_PAUSE_S)
        again = check(lambda _: None)
        again.findings = [each for each in again.findings if each in checked.findings]
        checked = again
    return checked


def _check_root(root: Path) -> Iterator[Finding]:
    try:
        meta = read_meta_properties(ReadOnlyDisk(), root)
    except MalformedFile as error:
        yield Finding(error.path, None, error.reason, f"a start leaves the whole directory out: {error.remedy}")
    else:
        if meta is None:
            yield Finding(root / META_PROPERTIES, None, "it is missing", "no broker starts on this directory")
    for path in sorted(root.iterdir()):
        if path.is_dir() and path.name not in NOBODYS:
            try:
                parse_directory(path)
            except UnknownDirectory:
                yield Finding(
                    path, None, "it is no partition's directory", "no broker starts until it is moved elsewhere"
                )


def _together(roots: Iterable[Path]) -> Iterator[Finding]:
    """Directories of one node agree on whose they are."""
    found = {}
    for root in roots:
        try:
            found[root] = read_meta_properties(ReadOnlyDisk(), root)
        except MalformedFile:
            continue
    for problem in check_directories(found) if len(found) > 1 else ():
        yield Finding(next(iter(found)) / META_PROPERTIES, None, problem, "no broker starts on these together")


def _size(directory: Path) -> int:
    total = 0
    for path in directory.glob("*.log"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _then(finding: Finding, lines: Sequence[str]) -> str:
    return "; ".join(lines) or finding.then


def _show(verifications: Sequence[Verification], findings: Sequence[Told], total: int, output: Output) -> None:
    if findings:
        rows = [
            (_short(each.file, verifications), each.position, each.what, _then(each, lines)) for each, lines in findings
        ]
        output.table(("file", "byte", "what is wrong", "what a start does, or what comes of it"), rows)
        output.line()
    for one in verifications:
        if one.in_use:
            output.note(f"A broker has {one.root}: what it writes now may look unfinished, and no start was rehearsed.")
    partitions = sum(len(one.checked) for one in verifications)
    segments = sum(checked.segments for one in verifications for checked in one.checked)
    batches = sum(checked.batches for one in verifications for checked in one.checked)
    verdict = output.bad(f"{len(findings)} wrong") if findings else output.good("all is well")
    output.line(
        f"{counted(partitions, 'partition')}, {counted(segments, 'segment')}, {counted(batches, 'batch', 'batches')}, "
        f"{size_text(total)}: {verdict}"
    )


def _short(path: Path, verifications: Sequence[Verification]) -> str:
    """Where there is one directory, it need not be said with each file."""
    root = verifications[0].root
    return str(path.relative_to(root)) if len(verifications) == 1 and path.is_relative_to(root) else str(path)


def _as_json(verifications: Sequence[Verification], findings: Sequence[Told], total: int) -> dict[str, Any]:
    return {
        "ok": not findings,
        "bytes": total,
        "directories": [
            {
                "directory": str(one.root),
                "inUse": one.in_use,
                "partitions": [
                    {
                        "topic": checked.partition.topic,
                        "partition": checked.partition.partition,
                        "endOffset": checked.end_offset,
                        "segments": checked.segments,
                        "batches": checked.batches,
                        "wrong": len(checked.findings),
                    }
                    for checked in one.checked
                ],
            }
            for one in verifications
        ],
        "findings": [
            {
                "file": str(each.file),
                "position": each.position,
                "what": each.what,
                "consequence": each.then,
                "start": lines,
            }
            for each, lines in findings
        ],
    }
