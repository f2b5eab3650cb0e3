"""A disk for those who only look: nothing is made, changed or locked by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.storage.disk import ReadOnlyDisk, SystemDisk, is_locked


def test_files_are_read_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(FileNotFoundError):
        ReadOnlyDisk().open(path)
    path.write_bytes(b"abc")
    path.chmod(0o444)
    file = ReadOnlyDisk().open(path)
    view = file.map(5)
    view[0] = 7
    assert (file.read(0, 9), bytes(view)) == (b"abc", b"\x07bc\0\0")
    assert path.read_bytes() == b"abc"
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.write(0, [b"x"])
    with pytest.raises(OSError, match=r"Invalid argument|Bad file descriptor"):
        file.truncate(0)
    assert path.read_bytes() == b"abc"


def test_a_directory_is_left_as_it_is(tmp_path: Path) -> None:
    disk = ReadOnlyDisk()
    (tmp_path / "file").write_bytes(b"abc")
    for change in (
        lambda: disk.make_directory(tmp_path / "new"),
        lambda: disk.rename(tmp_path / "file", tmp_path / "other"),
        lambda: disk.remove(tmp_path / "file"),
        lambda: disk.remove_tree(tmp_path),
        lambda: disk.set_modified_ms(tmp_path / "file", 0),
        lambda: disk.lock(tmp_path / ".lock", "me"),
        lambda: disk.replace_file(tmp_path / "file", b""),
    ):
        with pytest.raises(OSError, match="Read-only"):
            change()
    assert disk.names(tmp_path) == ["file"]
    assert disk.read_file(tmp_path / "file") == b"abc"


def test_a_lock_is_seen_and_not_taken(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    assert not is_locked(path)
    assert not path.exists()
    lock = SystemDisk().lock(path, "me")
    ask = (
        f"from pathlib import Path\nfrom barnabas.storage.disk import is_locked\nprint(is_locked(Path({str(path)!r})))"
    )

    def seen_by_another_process() -> str:
        return subprocess.run(
            [sys.executable, "-c", ask, path], capture_output=True, text=True, check=True
        ).stdout.strip()

    assert is_locked(path)
    assert seen_by_another_process() == "True"  # and our look has not given it up
    lock.release()
    assert not is_locked(path)
    assert seen_by_another_process() == "False"
