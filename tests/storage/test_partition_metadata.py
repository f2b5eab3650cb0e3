"""partition.metadata: the id of a partition's topic, and every way in which the file can be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.partition_metadata import (
    PARTITION_METADATA,
    is_torn,
    read_partition_metadata,
    write_partition_metadata,
)
from tests.storage.damaged_bytes import damaged

DIRECTORY = Path("/logs/clicks-0")
TOPIC_ID = Uuid(range(200, 216))
CONTENT = b"version: 0\ntopic_id: yMnKy8zNzs_Q0dLT1NXW1w"


def read(content: bytes) -> Uuid | None:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    disk.replace_file(DIRECTORY / PARTITION_METADATA, content)
    return read_partition_metadata(disk, DIRECTORY)


def test_what_is_written_is_read() -> None:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    assert read_partition_metadata(disk, DIRECTORY) is None
    write_partition_metadata(disk, DIRECTORY, TOPIC_ID)
    assert disk.read_file(DIRECTORY / PARTITION_METADATA) == CONTENT
    assert read_partition_metadata(disk, DIRECTORY) == TOPIC_ID
    assert disk.names(DIRECTORY) == [PARTITION_METADATA]


def test_the_id_of_no_topic_is_never_written() -> None:
    with pytest.raises(AssertionError):
        write_partition_metadata(MemoryDisk(), DIRECTORY, Uuid.ZERO)


def test_what_kafka_forgives() -> None:
    padded = CONTENT + b"==\r\nand: more\n"
    assert read(padded) == read(CONTENT.replace(b": 0", b": \t7")) == read(CONTENT.replace(b"id", b"ID")) == TOPIC_ID


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"", 1, "missing"),
        (b"version: 0\n", 2, "missing"),
        (b"version:0\n", 1, "'version:0' is not a name, a colon and a value"),
        (b"version: 0 \n", 1, "'0 ' is no integer"),
        (b"version: -1\n" + CONTENT[11:], 1, "version -1 is unknown"),
        (b"version: 0\ntopic_id: \n", 2, "not a name, a colon and a value"),
        (b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n", 2, "zero"),
        (CONTENT[:-1], 2, "no Kafka uuid"),
        (CONTENT[:-1] + b"!w", 2, "no Kafka uuid"),
        (CONTENT.replace(b"_", b"/"), 2, "no Kafka uuid"),
    ],
)
def test_what_is_malformed_says_where_and_what_to_do(content: bytes, line: int, reason: str) -> None:
    with pytest.raises(MalformedFile) as raised:
        read(content)
    assert (raised.value.line, raised.value.path) == (line, DIRECTORY / PARTITION_METADATA)
    assert reason in raised.value.reason
    assert "; write its two lines again, with the id" in str(raised.value)


def test_any_damage_is_read_or_named() -> None:
    refused = 0
    for content in damaged(CONTENT):
        try:
            assert read(content) != Uuid.ZERO
        except MalformedFile:
            refused += 1
    assert refused > 1000


@pytest.mark.parametrize("length", range(len("version: 0\ntopic_id: ") + 22))
def test_what_a_power_cut_leaves_of_one_that_was_not_synced_is_known_as_torn(length: int) -> None:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    write_partition_metadata(disk, DIRECTORY, TOPIC_ID, sync=False)
    assert read_partition_metadata(disk, DIRECTORY) == TOPIC_ID
    assert not is_torn(disk, DIRECTORY)
    file = disk.open(DIRECTORY / PARTITION_METADATA)
    whole = file.size()
    for size in (length, whole):  # shorter, or as long and zeros at the end
        file.truncate(length)
        file.truncate(size)
        assert is_torn(disk, DIRECTORY)
        with pytest.raises(MalformedFile):
            read_partition_metadata(disk, DIRECTORY)


@pytest.mark.parametrize("other", [b"nonsense", b"version: 1\n", b"version: 0\ntopic-id: xx"])
def test_what_no_power_cut_leaves_is_not_taken_for_torn(other: bytes) -> None:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    disk.open(DIRECTORY / PARTITION_METADATA).write(0, [other])
    assert not is_torn(disk, DIRECTORY)
