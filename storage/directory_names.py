"""What the directories and files of a log directory are called, and what their names say.

TOPIC-N                       a partition
TOPIC-N.<unique>-delete       one that is being deleted
TOPIC-N.<unique>-stray        one that nobody wants and nobody told us to delete
TOPIC-N.<unique>-future       one that is being copied from another directory of the node
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from barnabas.storage.directory_errors import UnknownDirectory

__all__ = [
    "LOCK",
    "METADATA_TOPIC",
    "NOBODYS",
    "TopicPartition",
    "fits_as_future",
    "is_worker_lock",
    "marked_name",
    "parse_directory",
    "worker_lock",
]

LOCK = ".lock"
METADATA_TOPIC = "__cluster_metadata"
"""Its log belongs to the controller and is opened by it, not with the others."""
NOBODYS = ("lost+found", "remote-log-index-cache")
"""Directories that are no log: the file system's own, and the one that Kafka keeps for remote storage."""

LONGEST_NAME = 255
HIGHEST_PARTITION = 2**31 - 1

_PARTITION = re.compile(r"(?P<topic>.+)-(?P<partition>[0-9]+)")
_MARKED = re.compile(r"(?P<name>.+)\.(?P<unique>[^.]+)-(?P<mark>delete|future|stray)")
_WORKER_LOCK = re.compile(r"\.recovery-.+\.lock")


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def parse_directory(path: Path) -> tuple[TopicPartition, str]:
    """The partition, and "delete", "future", "stray", or nothing."""
    marked = _MARKED.fullmatch(path.name)
    found = _PARTITION.fullmatch(marked["name"] if marked else path.name)
    if found is None or int(found["partition"]) > HIGHEST_PARTITION:
        raise UnknownDirectory(
            f"{path} is no partition's directory: only Kafka's own data may lie in a log directory; move it elsewhere."
        )
    return TopicPartition(found["topic"], int(found["partition"])), marked["mark"] if marked else ""


def marked_name(partition: TopicPartition, unique: str, mark: str) -> str:
    """A long topic is cut off, but for a copy, which has to tell it when it takes over."""
    ending = f"-{partition.partition}.{unique}-{mark}"
    return (partition.topic if mark == "future" else partition.topic[: LONGEST_NAME - len(ending)]) + ending


def fits_as_future(partition: TopicPartition, unique: str) -> bool:
    return len(marked_name(partition, unique, "future")) <= LONGEST_NAME


def worker_lock(name: str) -> str:
    """The file that a process locks which recovers logs for us. If we are killed it may live on for a while, and until
    it ends nobody else may touch what it is cutting."""
    return f".recovery-{name}.lock"


def is_worker_lock(name: str) -> bool:
    return _WORKER_LOCK.fullmatch(name) is not None
