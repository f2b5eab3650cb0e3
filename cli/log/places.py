"""Which partitions a command over files is for: paths, or a topic and a partition in a log directory."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.storage.directory_errors import UnknownDirectory
from barnabas.storage.directory_names import NOBODYS, TopicPartition, parse_directory

__all__ = ["DEFAULT_DATA", "add_place_arguments", "is_partition", "partition_directories", "places_of"]

DEFAULT_DATA = Path("barnabas-data")


def add_place_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="*", type=Path, help=what)
    parser.add_argument(
        "--data", metavar="DIR", action="append", type=Path, default=[], help="a log directory (log.dirs)"
    )
    parser.add_argument("--topic", metavar="TOPIC", help="of the log directory, only this topic's partitions")
    parser.add_argument("--partition", metavar="NUMBER", type=int, help="and of these, only this one")


def places_of(arguments: argparse.Namespace, *, required: bool) -> list[Path]:
    """The paths that were named; or else the log directory, if a topic was named or there is one where we look."""
    if arguments.partition is not None and arguments.topic is None:
        raise WrongUsage("--partition needs a --topic")
    places: list[Path] = [*arguments.paths, *arguments.data]
    if places or not required:
        return places
    if arguments.topic is not None or DEFAULT_DATA.is_dir():
        return [DEFAULT_DATA]
    raise WrongUsage("name a file, a partition's directory, or a log directory with --data")


def is_partition(directory: Path) -> bool:
    """Whether it is one partition's directory, and not one with many of them."""
    try:
        parse_directory(directory.resolve())
    except UnknownDirectory:
        return _has_segments(directory)
    return _has_segments(directory) or not any(child.is_dir() for child in directory.iterdir())


def _has_segments(directory: Path) -> bool:
    return any(re.fullmatch(r"\d{20}(-\d{10})?\.(log|checkpoint)", path.name) for path in directory.iterdir())


def partition_directories(place: Path, arguments: argparse.Namespace) -> list[Path]:
    """Of a directory that may be a partition's, or a log directory."""
    if not place.is_dir():
        raise CommandFailed(f"There is no directory {place}: name a log directory (log.dirs), or a partition's.")
    if is_partition(place):
        return [place]
    found = _partitions_in(place)
    wanted = {
        partition: path
        for partition, path in found.items()
        if arguments.topic in (None, partition.topic) and arguments.partition in (None, partition.partition)
    }
    if not wanted:
        raise CommandFailed(_nothing(place, found, arguments))
    return [wanted[partition] for partition in sorted(wanted)]


def _partitions_in(place: Path) -> dict[TopicPartition, Path]:
    found = {}
    for path in sorted(place.iterdir()):
        if path.name in NOBODYS or not path.is_dir():
            continue
        try:
            partition, mark = parse_directory(path)
        except UnknownDirectory:
            continue
        if not mark:
            found[partition] = path
    return found


def _nothing(place: Path, found: dict[TopicPartition, Path], arguments: argparse.Namespace) -> str:
    topics = sorted({partition.topic for partition in found})
    if not topics:
        return f"{place} holds no partition: name a log directory (log.dirs) with --data, or a partition's."
    if arguments.topic not in topics:
        return f"{place} holds no topic {arguments.topic}; it has {', '.join(topics[:20])}."
    numbers = sorted(partition.partition for partition in found if partition.topic == arguments.topic)
    return (
        f"{place} holds no partition {arguments.partition} of {arguments.topic}; it has {', '.join(map(str, numbers))}."
    )
