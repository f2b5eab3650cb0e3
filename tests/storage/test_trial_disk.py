"""A start that is rehearsed comes to what a start comes to, and leaves every byte as it was."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from barnabas.storage.disk import Disk, SystemDisk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.trial_disk import TrialDisk
from tests.cli.log_files import NOW_MS, fill, make_partition


def opened(disk: Disk, directory: Path, *, clean: bool) -> tuple[Log, list[str]]:
    said: list[str] = []
    log = open_log(
        disk,
        directory,
        make_partition(directory.parent / "other").config,
        now_ms=NOW_MS,
        clean=clean,
        report=said.append,
    )
    return log, said


def contents(directory: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(directory.iterdir())}


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_log_is_opened_the_same(tmp_path: Path, seed: int) -> None:
    log = make_partition(tmp_path)
    fill(log)
    log.close()
    rng = random.Random(seed)
    files = sorted(path for path in log.directory.iterdir() if path.suffix in (".log", ".index", ".timeindex"))
    for path in rng.sample(files, 2):
        data = bytearray(path.read_bytes())
        if seed % 3 == 0 or not data:
            path.unlink()
        elif seed % 3 == 1:
            path.write_bytes(data[: rng.randrange(len(data))])
        else:
            data[rng.randrange(len(data))] ^= 0xFF
            path.write_bytes(data)
    before = contents(log.directory)
    clean = bool(seed % 2)
    tried, said = opened(TrialDisk(), log.directory, clean=clean)
    assert contents(log.directory) == before
    copy = Path(shutil.copytree(log.directory, tmp_path / "copy" / "orders-0"))
    really, told = opened(SystemDisk(), copy, clean=clean)
    assert [line.replace(str(tmp_path / "copy"), str(tmp_path)) for line in told] == said
    assert (tried.start_offset, tried.end_offset) == (really.start_offset, really.end_offset)
    assert [(one.base_offset, one.size, one.latest) for one in tried.segments] == [
        (one.base_offset, one.size, one.latest) for one in really.segments
    ]
    assert tried.epochs.entries == really.epochs.entries
    tried.roll(NOW_MS)
    tried.close()
    assert contents(log.directory) == before


def test_files_are_made_changed_and_gone_in_memory_alone(tmp_path: Path) -> None:
    disk = TrialDisk()
    (tmp_path / "old").write_bytes(b"0123456789")
    file = disk.open(tmp_path / "old", create=False)
    file.truncate(8)
    file.write(8, [b"ab"])
    assert disk.read_file(tmp_path / "old") == b"01234567ab"
    file.truncate(9)
    file.truncate(12)
    assert file.read(6, 9) == b"67a\0\0\0"
    file.write(2, [b"xx"])
    assert file.read(1, 4) == b"1xx4"
    view = file.map(14)
    view[13] = 1
    assert file.read(12, 9) == b"\0\x01"

    disk.rename(tmp_path / "old", tmp_path / "new")
    disk.make_directory(tmp_path / "sub" / "deep")
    disk.replace_file(tmp_path / "sub" / "deep" / "small", b"!")
    assert disk.names(tmp_path) == ["new", "sub"]
    assert disk.names(tmp_path / "sub" / "deep") == ["small"]
    assert not disk.exists(tmp_path / "old")
    with pytest.raises(FileNotFoundError):
        disk.open(tmp_path / "old", create=False)
    with pytest.raises(FileNotFoundError):
        disk.size(tmp_path / "old")
    disk.remove_tree(tmp_path / "sub")
    assert not disk.exists(tmp_path / "sub" / "deep" / "small")
    disk.lock(tmp_path / ".lock", "me").release()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("old", b"0123456789")]
