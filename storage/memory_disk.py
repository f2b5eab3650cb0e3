"""A disk that is memory and nothing else: durability=memory, for tests that want no file touched."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

from barnabas.storage.disk import Disk, DiskLocked, File, Lock

__all__ = ["MemoryDisk", "MemoryFile"]


class MemoryFile(File):
    """The bytes of a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.modified_ms = 0
        self._data = bytearray()
        self._mapped: memoryview | None = None

    @property
    def descriptor(self) -> None:
        return None

    def size(self) -> int:
        return len(self._data)

    def read(self, position: int, length: int) -> bytes:
        return bytes(self._data[position : position + length])

    def write(self, position: int, chunks: Sequence[bytes | bytearray | memoryview]) -> None:
        data = b"".join(chunks)
        if position == len(self._data):
            self._data += data
            return
        self._lengthen(position + len(data))
        self._data[position : position + len(data)] = data

    def truncate(self, size: int) -> None:
        self._lengthen(size)
        if size < len(self._data):
            # Not in place: a mapping may still be held by whoever had the file before and is gone without closing it.
            self._data = self._data[:size]

    def map(self, size: int) -> memoryview:
        self._lengthen(size)
        return memoryview(self._data)[:size]

    def sync(self) -> None:
        """There is nothing that could be lost."""

    def _lengthen(self, size: int) -> None:
        if size > len(self._data):
            self._data = self._data + bytes(size - len(self._data))


class MemoryLock(Lock):
    def __init__(self, held: dict[Path, str], path: Path) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        self._held.pop(self._path, None)


class MemoryDisk(Disk):
    """Threads make, move and remove files while the event loop does too: what one of them looks through is a copy, and
    what it changes is nobody else's."""

    def __init__(self) -> None:
        self._files: dict[Path, MemoryFile] = {}
        self._directories: dict[Path, set[Path]] = {Path("/"): set()}
        """What lies in each: a topic that is made looks into its directory alone, however many others there are."""
        self._locks: dict[Path, str] = {}

    def open(self, path: Path, *, create: bool = True) -> File:
        if path not in self._files:
            if not create or path.parent not in self._directories:
                raise _missing(path)
            self._put(path, self.new_file(path))
        return self._files[path]

    def new_file(self, path: Path) -> MemoryFile:
        return MemoryFile(path)

    def exists(self, path: Path) -> bool:
        return path in self._files or path in self._directories

    def size(self, path: Path) -> int:
        return self._file(path).size()

    def modified_ms(self, path: Path) -> int:
        return self._file(path).modified_ms

    def set_modified_ms(self, path: Path, modified_ms: int) -> None:
        self._file(path).modified_ms = modified_ms

    def names(self, directory: Path) -> list[str]:
        if directory not in self._directories:
            raise _missing(directory)
        return sorted(path.name for path in list(self._directories[directory]))

    def is_directory(self, path: Path) -> bool:
        return path in self._directories

    def make_directory(self, path: Path) -> None:
        if path in self._directories:
            return
        self._directories[path] = set()
        if path.parent != path:
            self.make_directory(path.parent)
            self._directories[path.parent].add(path)

    def read_file(self, path: Path) -> bytes:
        file = self._file(path)
        return file.read(0, file.size())

    def rename(self, old: Path, new: Path) -> None:
        if not self.exists(old) or new.parent not in self._directories:
            raise _missing(old)
        self._move(old, new)

    def remove(self, path: Path) -> None:
        if path in self._files:
            self._take(path)

    def remove_tree(self, directory: Path) -> None:
        self._remove_directory(directory)

    def sync_directory(self, directory: Path) -> None:
        """There is nothing that could be lost."""

    def lock(self, path: Path, holder: str) -> Lock:
        if path in self._locks:
            raise DiskLocked(path, self._locks[path])
        self._locks[path] = holder
        return MemoryLock(self._locks, path)

    def _move(self, old: Path, new: Path) -> None:
        if old in self._files:
            file = self._take(old)
            file.path = new
            self._put(new, file)
            return
        self._directories.setdefault(new, set())
        self._directories[new.parent].add(new)
        for below in list(self._directories[old]):
            self._move(below, new / below.name)
        self._forget_directory(old)

    def _put(self, path: Path, file: MemoryFile) -> None:
        self._files[path] = file
        self._directories[path.parent].add(path)

    def _take(self, path: Path) -> MemoryFile:
        self._directories[path.parent].discard(path)
        return self._files.pop(path)

    def _remove_directory(self, directory: Path) -> None:
        for below in list(self._directories.get(directory, ())):
            if below in self._files:
                self._take(below)
            else:
                self._remove_directory(below)
        self._forget_directory(directory)

    def _forget_directory(self, path: Path) -> None:
        self._directories.pop(path, None)
        if path.parent in self._directories:
            self._directories[path.parent].discard(path)

    def _file(self, path: Path) -> MemoryFile:
        try:
            return self._files[path]
        except KeyError:
            raise _missing(path) from None


def _missing(path: Path) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
