"""Files of offsets, and the marker of a clean stop: written as Kafka writes them, and refused with what to do."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from barnabas.storage.checkpoints import (
    CLEAN_SHUTDOWN,
    RECOVERY_POINT_OFFSET_CHECKPOINT,
    CleanShutdown,
    MalformedFile,
    read_clean_shutdown,
    read_offsets,
    remove_clean_shutdown,
    write_clean_shutdown,
    write_offsets,
)
from barnabas.storage.disk import Disk, SystemDisk
from barnabas.storage.memory_disk import MemoryDisk
from tests.storage.damaged_bytes import damaged

DIRECTORY = Path("/logs")
PATH = DIRECTORY / RECOVERY_POINT_OFFSET_CHECKPOINT
OFFSETS = {("clicks", 10): 7, ("clicks", 9): 2**63 - 1, ("a.b_c-d", 0): 0}
CONTENT = b"0\n3\na.b_c-d 0 0\nclicks 9 9223372036854775807\nclicks 10 7\n"


def disk_with(content: bytes, path: Path = PATH) -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_directory(path.parent)
    disk.replace_file(path, content)
    return disk


def read(content: bytes) -> dict[tuple[str, int], int]:
    return read_offsets(disk_with(content), PATH)


def test_offsets_are_written_sorted_and_read_again() -> None:
    disk = disk_with(b"")
    write_offsets(disk, PATH, OFFSETS)
    assert disk.read_file(PATH) == CONTENT
    assert read_offsets(disk, PATH) == OFFSETS


def test_no_offsets_are_a_file_too() -> None:
    disk = disk_with(CONTENT)
    write_offsets(disk, PATH, {})
    assert disk.read_file(PATH) == b"0\n0\n"
    assert read_offsets(disk, PATH) == {}


def test_a_missing_file_has_no_offsets_and_is_not_made() -> None:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    assert read_offsets(disk, PATH) == {}
    assert disk.names(DIRECTORY) == []


def test_on_a_real_disk(tmp_path: Path) -> None:
    disk: Disk = SystemDisk()
    write_offsets(disk, tmp_path / "checkpoint", OFFSETS)
    assert read_offsets(disk, tmp_path / "checkpoint") == OFFSETS
    assert disk.names(tmp_path) == ["checkpoint"]


def test_a_write_that_fails_leaves_what_was_there() -> None:
    class Failing(MemoryDisk):
        fails = False

        def rename(self, old: Path, new: Path) -> None:
            if self.fails:
                raise OSError(errno.EIO, "input/output error")
            super().rename(old, new)

    disk = Failing()
    disk.make_directory(DIRECTORY)
    write_offsets(disk, PATH, OFFSETS)
    disk.fails = True
    with pytest.raises(OSError, match="input/output"):
        write_offsets(disk, PATH, {("clicks", 9): 1})
    assert read_offsets(disk, PATH) == OFFSETS


@pytest.mark.parametrize(
    ("content", "offsets"),
    [
        (b"", {}),
        (b"0\n", {}),
        (b"0\r\n+1\r\nt\t0 \x0b 5 \t\r\n", {("t", 0): 5}),
        (b"0\n2\nt 0 5\nt 0 6", {("t", 0): 6}),
        (b"0\n1\nt -1 -5\n", {("t", -1): -5}),
        (b"-0\n1\n 3 4\n", {("", 3): 4}),
        ("0\n1\nc\u2028d 3 4\n".encode(), {("c\u2028d", 3): 4}),
    ],
    ids=["empty", "version only", "ends of lines and blanks", "twice", "negative", "no name", "unicode's line ends"],
)
def test_what_kafka_forgives(content: bytes, offsets: dict[tuple[str, int], int]) -> None:
    assert read(content) == offsets


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"\n", 1, "'' is no integer"),
        (b"1\n0\n", 1, "version 1"),
        (b" 0\n0\n", 1, "' 0' is no integer"),
        (b"0\nmany\n", 2, "'many' is no integer"),
        (b"0\n2147483648\n", 2, "does not fit into 32 bits"),
        (b"0\n2\nt 0 5\n", 2, "promises 2 entries, and 1 follow"),
        (b"0\n0\nt 0 5\n", 2, "promises 0 entries, and 1 follow"),
        (b"0\n1\nt 0 5\n\n", 4, "'' is no entry"),
        (b"0\n1\nt 0\n", 3, "not a topic, a partition and an offset"),
        (b"0\n1\n t 0 5\n", 3, "not a topic, a partition and an offset"),
        (b"0\n1\nt x 5\n", 3, "'x' is no integer"),
        (b"0\n1\nt 0 5_0\n", 3, "'5_0' is no integer"),
        (b"0\n1\nt 0 9223372036854775808\n", 3, "does not fit into 64 bits"),
        (b"0\n1\nt\xff 0 5\n", 3, "byte 5 of the file is no UTF-8"),
    ],
)
def test_what_is_malformed_says_where_and_what_to_do(content: bytes, line: int, reason: str) -> None:
    with pytest.raises(MalformedFile) as raised:
        read(content)
    assert raised.value.line == line
    assert reason in raised.value.reason
    assert str(raised.value).startswith(f"/logs/recovery-point-offset-checkpoint, line {line}: ")
    assert str(raised.value).endswith(
        "; delete the file, and after an unclean stop every log is checked from its start"
    )


def test_any_damage_is_read_or_named() -> None:
    refused = 0
    for content in damaged(CONTENT):
        try:
            read(content)
        except MalformedFile:
            refused += 1
    assert refused > 1000


def test_a_topic_that_would_break_its_line_is_never_written() -> None:
    for topic in ("two words", "line\nend", " t", "t "):
        with pytest.raises(AssertionError):
            write_offsets(disk_with(b""), PATH, {(topic, 0): 0})


def test_the_marker_of_a_clean_stop() -> None:
    disk = disk_with(b"")
    assert read_clean_shutdown(disk, DIRECTORY) is None
    write_clean_shutdown(disk, DIRECTORY, 42)
    assert disk.read_file(DIRECTORY / CLEAN_SHUTDOWN) == b'{"version":0,"brokerEpoch":42}'
    assert read_clean_shutdown(disk, DIRECTORY) == CleanShutdown(42)
    remove_clean_shutdown(disk, DIRECTORY)
    remove_clean_shutdown(disk, DIRECTORY)
    assert read_clean_shutdown(disk, DIRECTORY) is None


def test_the_marker_counts_whatever_is_in_it() -> None:
    path = DIRECTORY / CLEAN_SHUTDOWN
    for content in [
        b"",
        b"{}",
        b"null",
        b"[]",
        b"\xff",
        b'{"brokerEpoch":null}',
        b'{"brokerEpoch":9223372036854775808}',
    ]:
        assert read_clean_shutdown(disk_with(content, path), DIRECTORY) == CleanShutdown(None)
    assert read_clean_shutdown(disk_with(b"[" * 100_000, path), DIRECTORY) == CleanShutdown(None)
    for content in damaged(b'{"version":0,"brokerEpoch":42}'):
        assert read_clean_shutdown(disk_with(content, path), DIRECTORY) is not None


def test_the_removal_of_the_marker_is_safe_before_anything_else_is_written() -> None:
    class Watched(MemoryDisk):
        def __init__(self) -> None:
            super().__init__()
            self.calls: list[tuple[str, Path]] = []

        def remove(self, path: Path) -> None:
            self.calls.append(("remove", path))

        def sync_directory(self, directory: Path) -> None:
            self.calls.append(("sync", directory))

    disk = Watched()
    remove_clean_shutdown(disk, DIRECTORY)
    assert disk.calls == [("remove", DIRECTORY / CLEAN_SHUTDOWN), ("sync", DIRECTORY)]
