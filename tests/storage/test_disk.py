"""What every disk has in common."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from barnabas.storage.compaction import compact
from barnabas.storage.disk import SystemDisk
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.segment import Segment

from .compacted import append, job_for, new_log
from .conftest import Place


def test_a_missing_file_is_made_only_for_who_wants_it(place: Place) -> None:
    path = place.directory / "file"
    with pytest.raises(FileNotFoundError, match="file"):
        place.disk.open(path, create=False)
    assert not place.disk.exists(path)
    place.disk.open(path).write(0, [b"abc"])
    assert place.disk.open(path, create=False).read(0, 9) == b"abc"


def test_a_segment_that_others_have_deleted_is_not_made_again(place: Place) -> None:
    def opened() -> Segment:
        return Segment(
            place.disk, place.directory, 5, index_max_bytes=1_000, index_interval_bytes=100, created_ms=1_000
        )

    opened().close()
    assert len(place.disk.names(place.directory)) == 3
    one, another = opened(), opened()
    another.remove()
    one.sync()
    with pytest.raises(FileNotFoundError):
        one.file.read(0, 1)
    assert one.transaction_index.is_empty()
    assert place.disk.names(place.directory) == []


def test_a_compaction_whose_log_is_deleted_leaves_no_file() -> None:
    disk = MemoryDisk()
    disk.make_directory(Path("/data"))
    log = new_log(disk, Path("/data"))
    for number in range(3):
        append(log, (b"key", b"%d" % number))
    job = job_for(log)
    for segment in log.segments:
        segment.remove()
    left = disk.names(log.directory)
    with pytest.raises(FileNotFoundError):
        next(compact(job, disk))
    assert disk.names(log.directory) == left


def test_a_sector_that_cannot_be_read_is_not_the_end_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system gives what lies before it, and says EIO only to who asks for the rest."""
    file = SystemDisk().open(tmp_path / "file")
    file.write(0, [bytes(5_000)])
    bad_byte: int | None = 4_096
    read, read_into = os.pread, os.preadv

    def pread(descriptor: int, length: int, position: int) -> bytes:
        return read(descriptor, before_bad(position, length), position)

    def preadv(descriptor: int, buffers: list[memoryview], position: int) -> int:
        (buffer,) = buffers
        return read_into(descriptor, [buffer[: before_bad(position, len(buffer))]], position)

    def before_bad(position: int, length: int) -> int:
        if bad_byte is None or not position <= bad_byte < position + length:
            return min(length, 1_500)
        if position == bad_byte:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return min(length, bad_byte - position)

    monkeypatch.setattr(os, "pread", pread)
    monkeypatch.setattr(os, "preadv", preadv)
    buffer = memoryview(bytearray(b"x" * 6_000))
    with pytest.raises(OSError, match="Input/output error"):
        file.read(0, 5_000)
    with pytest.raises(OSError, match="Input/output error"):
        file.read_into(0, buffer)
    assert file.read(0, 4_096) == bytes(4_096)
    bad_byte = None
    assert file.read(0, 9_000) == bytes(5_000)
    assert file.read_into(0, buffer) == 5_000
    assert bytes(buffer) == bytes(5_000) + b"x" * 1_000
