"""A disk that is memory and nothing else: durability=memory, for tests that want no file touched."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

from barnabas.storage.disk import Disk, DiskLocked, File, Lock

__all__ = ["MemoryDisk", "MemoryFile"]


class MemoryFile(File):
    """The bytes of a file. A view is a copy: what is read from a test's broker is small."""

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

    def view(self, position: int, length: int) -> memoryview:
        return memoryview(self.read(position, length))

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
    def __init__(self) -> None:
        self._files: dict[Path, MemoryFile] = {}
        self._directories: set[Path] = {Path("/")}
        self._locks: dict[Path, str] = {}

    def open(self, path: Path, *, create: bool = True) -> File:
        if path not in self._files:
            if not create or path.parent not in self._directories:
                raise _missing(path)
            self._files[path] = self.new_file(path)
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
        return sorted(path.name for path in (*self._files, *self._directories) if path.parent == directory != path)

    def is_directory(self, path: Path) -> bool:
        return path in self._directories

    def make_directory(self, path: Path) -> None:
        self._directories.update((path, *path.parents))

    def read_file(self, path: Path) -> bytes:
        file = self._file(path)
        return file.read(0, file.size())

    def rename(self, old: Path, new: Path) -> None:
        if old in self._files:
            file = self._files.pop(old)
            file.path = new
            self._files[new] = file
            return
        if old not in self._directories:
            raise _missing(old)
        self._directories = {_moved(path, old, new) for path in self._directories}
        self._files = {_moved(path, old, new): file for path, file in self._files.items()}
        for path, file in self._files.items():
            file.path = path

    def remove(self, path: Path) -> None:
        self._files.pop(path, None)

    def remove_tree(self, directory: Path) -> None:
        self._files = {path: file for path, file in self._files.items() if directory not in path.parents}
        self._directories = {path for path in self._directories if path != directory and directory not in path.parents}

    def sync_directory(self, directory: Path) -> None:
        """There is nothing that could be lost."""

    def lock(self, path: Path, holder: str) -> Lock:
        if path in self._locks:
            raise DiskLocked(path, self._locks[path])
        self._locks[path] = holder
        return MemoryLock(self._locks, path)

    def _file(self, path: Path) -> MemoryFile:
        try:
            return self._files[path]
        except KeyError:
            raise _missing(path) from None


def _moved(path: Path, old: Path, new: Path) -> Path:
    return new / path.relative_to(old) if path == old or old in path.parents else path


def _missing(path: Path) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
