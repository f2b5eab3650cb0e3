"""partition.metadata: which topic a partition's directory belongs to, since a name may be used again.

version: 0
topic_id: Hg2kXUZTTHW9EMzqVBBLXw
"""

from __future__ import annotations

import re
from pathlib import Path

from barnabas.protocol.java_text import BLANK, parse_integer, split_lines
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import MalformedFile, decode_text
from barnabas.storage.disk import Disk

__all__ = ["PARTITION_METADATA", "is_torn", "read_partition_metadata", "write_partition_metadata"]

PARTITION_METADATA = "partition.metadata"
VERSION = 0

_SEPARATOR = re.compile(f":{BLANK}+")
_REMEDY = (
    "write its two lines again, with the id that kafka-topics --describe shows for the topic, "
    "or delete the directory of the partition if the topic is gone"
)


def read_partition_metadata(disk: Disk, directory: Path) -> Uuid | None:
    """The topic id; None where no file is yet.

    As in Kafka the names before the colons say nothing, later versions are read (all of them have these two lines),
    and nothing behind is looked at."""
    path = directory / PARTITION_METADATA
    try:
        data = disk.read_file(path)
    except FileNotFoundError:
        return None
    lines = split_lines(decode_text(path, data, _REMEDY))
    number = 1
    try:
        version = parse_integer(_value(lines, number), 32)
        if version < VERSION:
            raise ValueError(f"version {version} is unknown")
        number = 2
        topic_id = Uuid.parse(_value(lines, number))
        if topic_id == Uuid.ZERO:
            raise ValueError("the topic id is zero, which no topic has")
    except ValueError as error:
        raise MalformedFile(path, number, str(error), _REMEDY) from None
    return topic_id


def write_partition_metadata(disk: Disk, directory: Path, topic_id: Uuid, *, sync: bool = True) -> None:
    """Without `sync` a kill while it is written, or a power cut later, may leave what `is_torn`."""
    assert topic_id != Uuid.ZERO, "the id of no topic"
    path = directory / PARTITION_METADATA
    if sync:
        disk.replace_file(path, _content(topic_id))
    else:
        file = disk.open(path)
        file.truncate(0)
        file.write(0, [_content(topic_id)])


def is_torn(disk: Disk, directory: Path) -> bool:
    """Whether the file is what a power cut leaves of one that was not synced: its beginning, or zeros."""
    found = disk.read_file(directory / PARTITION_METADATA).rstrip(b"\0")
    whole = _content(Uuid.ZERO)
    id_begins = len(whole) - len(str(Uuid.ZERO))
    return len(found) < len(whole) and whole.startswith(found[:id_begins])


def _content(topic_id: Uuid) -> bytes:
    return f"version: {VERSION}\ntopic_id: {topic_id}".encode()


def _value(lines: list[str], number: int) -> str:
    if number > len(lines):
        raise ValueError("the line is missing")
    line = lines[number - 1]
    words = _SEPARATOR.split(line)
    if len(words) != 2 or not words[1]:
        raise ValueError(f"{line[:100]!r} is not a name, a colon and a value")
    return words[1]
