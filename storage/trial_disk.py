"""A disk on which anything may be tried, since nothing is changed: what is written is kept in memory, and seen here
alone.

So that a start can be rehearsed on a directory that somebody else has, and a log be opened that must stay as it is.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

from barnabas.storage.disk import Disk, File, Lock, ReadOnlyDisk

__all__ = ["TrialDisk"]


class _NoLock(Lock):
    def release(self) -> None:
        """Nothing was taken."""


class TrialFile(File):
    """The first bytes of a file that is there, and what was written behind them; or, as soon as it has been written
    elsewhere, everything in memory."""

    def __init__(self, path: Path, base: File | None) -> None:
        self.path = path
        self._base = base
        self._from_base = base.size() if base is not None else 0
        self._data = bytearray()

    @property
    def descriptor(self) -> None:
        return None

    def size(self) -> int:
        return self._from_base + len(self._data)

    def read(self, position: int, length: int) -> bytes:
        found = b""
        if self._base is not None and position < self._from_base:
            found = self._base.read(position, min(length, self._from_base - position))
        start = max(position - self._from_base, 0)
        return found + bytes(self._data[start : start + length - len(found)])

    def write(self, position: int, chunks: Sequence[bytes | bytearray | memoryview]) -> None:
        data = b"".join(chunks)
        if position < self._from_base:
            self._take_all()
        self._lengthen(position)
        start = position - self._from_base
        self._data[start : start + len(data)] = data

    def truncate(self, size: int) -> None:
        self._lengthen(size)
        # A copy: a mapping may still be held by whoever had the file before.
        self._data = self._data[: max(size - self._from_base, 0)]
        self._from_base = min(self._from_base, size)

    def map(self, size: int) -> memoryview:
        self._take_all()
        self._lengthen(size)
        return memoryview(self._data)[:size]

    def sync(self) -> None:
        """There is nothing that could be lost."""

    def _take_all(self) -> None:
        if self._from_base:
            self._data = bytearray(self.read(0, self.size()))
            self._from_base = 0
        self._base = None

    def _lengthen(self, size: int) -> None:
        if size > self.size():
            self._data = self._data + bytes(size - self.size())


class TrialDisk(Disk):
    def __init__(self) -> None:
        self._base = ReadOnlyDisk()
        self._files: dict[Path, TrialFile] = {}
        """Those that were opened."""
        self._gone: set[Path] = set()
        self._made: set[Path] = set()
        self._times_ms: dict[Path, int] = {}

    def open(self, path: Path, *, create: bool = True) -> File:
        if path not in self._files:
            if self._is_below(path):
                self._files[path] = TrialFile(path, self._base.open(path))
            elif create and self.is_directory(path.parent):
                self._files[path] = TrialFile(path, None)
            else:
                raise _missing(path)
        return self._files[path]

    def _is_below(self, path: Path) -> bool:
        return path not in self._gone and self._base.exists(path)

    def exists(self, path: Path) -> bool:
        return path in self._files or path in self._made or self._is_below(path)

    def size(self, path: Path) -> int:
        if path in self._files:
            return self._files[path].size()
        if path in self._gone:
            raise _missing(path)
        return self._base.size(path)

    def modified_ms(self, path: Path) -> int:
        if path in self._times_ms or path in self._gone:
            return self._times_ms.get(path, 0)
        return self._base.modified_ms(path)

    def set_modified_ms(self, path: Path, modified_ms: int) -> None:
        self._times_ms[path] = modified_ms

    def names(self, directory: Path) -> list[str]:
        below = self._base.names(directory) if self._is_below(directory) else []
        names = {name for name in below if directory / name not in self._gone}
        names |= {path.name for path in (*self._files, *self._made) if path.parent == directory}
        return sorted(names)

    def is_directory(self, path: Path) -> bool:
        return path in self._made or (path not in self._gone and self._base.is_directory(path))

    def make_directory(self, path: Path) -> None:
        self._made.update(each for each in (path, *path.parents) if not self.is_directory(each))

    def read_file(self, path: Path) -> bytes:
        if path in self._files:
            return self._files[path].read(0, self._files[path].size())
        if path in self._gone:
            raise _missing(path)
        return self._base.read_file(path)

    def rename(self, old: Path, new: Path) -> None:
        if self.is_directory(old):
            raise OSError(errno.EROFS, "Directories keep their names here", str(old))
        file = self.open(old, create=False)
        assert isinstance(file, TrialFile)
        self.remove(old)
        file.path = new
        self._files[new] = file
        self._gone.add(new)  # what was there before

    def remove(self, path: Path) -> None:
        self._files.pop(path, None)
        self._gone.add(path)

    def remove_tree(self, directory: Path) -> None:
        for name in self.names(directory):
            path = directory / name
            if self.is_directory(path):
                self.remove_tree(path)
            else:
                self.remove(path)
        self._made.discard(directory)
        self._gone.add(directory)

    def sync_directory(self, directory: Path) -> None:
        """There is nothing that could be lost."""

    def lock(self, path: Path, holder: str) -> Lock:  # noqa: ARG002 - nobody is kept out
        return _NoLock()


def _missing(path: Path) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
