"""What every disk has in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.storage.compaction import compact
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
