"""The small text files of offsets that lie in every log directory, and the marker of a clean stop.

A checkpoint is a version, the number of its entries, and a line for each, as Kafka writes them:

    0
    2
    clicks 0 1500
    clicks 1 1498
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from barnabas.protocol.java_text import parse_integer, split_blanks, split_lines
from barnabas.storage.disk import Disk

__all__ = [
    "CLEANER_OFFSET_CHECKPOINT",
    "CLEAN_SHUTDOWN",
    "LOG_START_OFFSET_CHECKPOINT",
    "RECOVERY_POINT_OFFSET_CHECKPOINT",
    "REPLICATION_OFFSET_CHECKPOINT",
    "CleanShutdown",
    "MalformedFile",
    "checkpoint_text",
    "decode_text",
    "encode_offsets",
    "read_checkpoint",
    "read_clean_shutdown",
    "read_offsets",
    "remove_clean_shutdown",
    "write_checkpoint",
    "write_clean_shutdown",
    "write_offsets",
]

RECOVERY_POINT_OFFSET_CHECKPOINT = "recovery-point-offset-checkpoint"
REPLICATION_OFFSET_CHECKPOINT = "replication-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT = "log-start-offset-checkpoint"
CLEANER_OFFSET_CHECKPOINT = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

VERSION = 0
NO_BROKER_EPOCH = -1

_REMEDIES = {
    RECOVERY_POINT_OFFSET_CHECKPOINT: "delete the file, and after an unclean stop every log is checked from its start",
    REPLICATION_OFFSET_CHECKPOINT: "delete the file, and high watermarks begin at the start of each log and rise again",
    LOG_START_OFFSET_CHECKPOINT: "delete the file, and deleted records show again until their segments are deleted",
    CLEANER_OFFSET_CHECKPOINT: "delete the file, and compaction begins at the start of each log",
}

Entry = TypeVar("Entry")


class MalformedFile(Exception):  # noqa: N818 - named for what was found, as MalformedFrame is
    """A small file is not what Kafka writes; `remedy` is what whoever runs the node can do."""

    def __init__(self, path: Path, line: int | None, reason: str, remedy: str) -> None:
        self.where = f"{path}, line {line}" if line else str(path)
        super().__init__(f"{self.where}: {reason}; {remedy}")
        self.path = path
        self.line = line
        self.reason = reason
        self.remedy = remedy


def read_offsets(disk: Disk, path: Path) -> dict[tuple[str, int], int]:
    """The offset of each (topic, partition): nothing where there is no file, and the last where one is there twice."""
    return dict(read_checkpoint(disk, path, _parse_offset, _REMEDIES.get(path.name, "delete the file")))


def write_offsets(disk: Disk, path: Path, offsets: Mapping[tuple[str, int], int]) -> None:
    disk.replace_file(path, encode_offsets(offsets))


def encode_offsets(offsets: Mapping[tuple[str, int], int]) -> bytes:
    """Sorted, so that equal offsets are equal bytes."""
    for topic, _ in offsets:
        assert split_blanks(topic) == [topic], f"the topic {topic!r} would be several words of a line"
    return checkpoint_text([f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())])


def _parse_offset(words: list[str]) -> tuple[tuple[str, int], int]:
    if len(words) != 3:
        raise ValueError("it is not a topic, a partition and an offset")
    topic, partition, offset = words
    return (topic, parse_integer(partition, 32)), parse_integer(offset, 64)


def read_checkpoint(disk: Disk, path: Path, parse_entry: Callable[[list[str]], Entry], remedy: str) -> list[Entry]:
    """Every entry, by a function that is given the words of its line and raises ValueError for wrong ones.

    A file that ends before the number of entries has none: Kafka creates these files empty and fills them later."""

    def refuse(number: int, reason: str) -> NoReturn:
        raise MalformedFile(path, number, reason, remedy)

    def header(number: int) -> int:
        try:
            return parse_integer(lines[number - 1], 32)
        except ValueError as error:
            refuse(number, str(error))

    try:
        lines = split_lines(decode_text(path, disk.read_file(path), remedy))
    except FileNotFoundError:
        lines = []
    if lines and (version := header(1)) != VERSION:
        refuse(1, f"it has version {version}, and only version {VERSION} is known")
    if len(lines) < 2:
        return []
    count = header(2)
    entries = []
    for number, line in enumerate(lines[2:], 3):
        try:
            entries.append(parse_entry(split_blanks(line)))
        except ValueError as error:
            refuse(number, f"{line[:100]!r} is no entry: {error}")
    if len(entries) != count:
        refuse(2, f"it promises {count} entries, and {len(entries)} follow")
    return entries


def write_checkpoint(disk: Disk, path: Path, lines: Iterable[str]) -> None:
    disk.replace_file(path, checkpoint_text(list(lines)))


def checkpoint_text(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in [str(VERSION), str(len(lines)), *lines]).encode()


def decode_text(path: Path, data: bytes, remedy: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MalformedFile(path, line, f"byte {error.start} of the file is no UTF-8", remedy) from None


@dataclass(frozen=True, slots=True)
class CleanShutdown:
    """The last stop was clean. The broker tells the controller the epoch in which it ended, and is then known to
    have lost nothing; None where the marker does not say, as older versions of Kafka wrote it."""

    broker_epoch: int | None


def read_clean_shutdown(disk: Disk, directory: Path) -> CleanShutdown | None:
    """None: there is no marker, and logs have to be recovered. That it is there is what counts; Kafka forgives it
    any content, and so there is nothing that could be malformed."""
    path = directory / CLEAN_SHUTDOWN
    if not disk.exists(path):
        return None
    return CleanShutdown(_parse_broker_epoch(disk.read_file(path).decode(errors="replace")))


def write_clean_shutdown(disk: Disk, directory: Path, broker_epoch: int = NO_BROKER_EPOCH) -> None:
    """The last file to write: what it vouches for has to be safe on disk."""
    content = json.dumps({"version": VERSION, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    disk.replace_file(directory / CLEAN_SHUTDOWN, content.encode())


def remove_clean_shutdown(disk: Disk, directory: Path) -> None:
    """Before the first write to any log. Kafka leaves it to chance when the removal reaches the disk; a marker that a
    power cut brings back would vouch for logs that were being written."""
    disk.remove(directory / CLEAN_SHUTDOWN)
    disk.sync_directory(directory)


def _parse_broker_epoch(text: str) -> int | None:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no JSON")

    try:
        content, _ = json.JSONDecoder(parse_constant=refuse).raw_decode(text.lstrip(" \t\r\n"))
        return parse_integer(str(int(content["brokerEpoch"])), 64)
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None
