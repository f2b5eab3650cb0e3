"""The disk of a machine, which survives its nodes: a tree of files and directories in memory. It fills up, its syncs
fail, and a power cut makes it forget.

What a file's bytes are and what a directory's names are is safe when that file or that directory has been synced. Of
the changes since, a power cut keeps those that its seed says, each on its own: a write may be kept up to any byte, a
later one may survive an earlier one, a rename may be lost whose file is safe, and a directory that was removed may come
back with some of its files. Of the end of a process nothing is lost. What is written through a mapping is found by
comparing, when somebody has to know.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from barnabas.storage.disk import Disk, DiskLocked, File, Lock
from tests.storage.faulty_disk import Keep, Unsafe, everything

__all__ = ["SimulatedDisk"]


class _Write(NamedTuple):
    number: int
    position: int
    data: bytes | None
    """None for a file that is cut or lengthened to `position`."""


class _Bytes:
    """Of a file, whatever its name."""

    __slots__ = ("changes", "data", "modified_ms", "safe", "seen", "view")

    def __init__(self, data: bytes = b"", modified_ms: int = 0) -> None:
        self.data = bytearray(data)
        self.safe = data
        self.changes: list[_Write] = []
        self.modified_ms = modified_ms
        self.view: memoryview | None = None
        self.seen = b""
        """The mapped bytes when they were last compared."""

    def resize(self, size: int) -> None:
        # Not in place: a mapping may still be held by a process that is gone.
        if size > len(self.data):
            self.data = self.data + bytes(size - len(self.data))
        elif size < len(self.data):
            self.data = self.data[:size]

    def sync(self) -> None:
        self.safe = bytes(self.data)
        self.changes.clear()
        if self.view is not None:
            self.seen = self.safe[: len(self.seen)]

    def find_mapped_writes(self, disk: SimulatedDisk) -> None:
        seen = self.seen
        if not seen or self.data.startswith(seen):
            return
        now = bytes(self.data[: len(seen)])
        at = 0
        while at < len(seen):
            if seen[at : at + 64] == now[at : at + 64]:
                at += 64
                continue
            while seen[at] == now[at]:
                at += 1
            end = at + 1
            while end < len(seen) and seen[end] != now[end]:
                end += 1
            self.changes.append(_Write(disk.next_number(), at, now[at:end]))
            at = end
        self.seen = now

    def found(self, disk: SimulatedDisk, path: Path, keep: Keep) -> _Bytes:
        self.find_mapped_writes(disk)
        if keep is everything:
            return _Bytes(bytes(self.data), self.modified_ms)
        data = bytearray(self.safe)
        for number, position, written in self.changes:
            if written is None:
                if keep(Unsafe("truncate", path, 1, number)):
                    data = data[:position] + bytes(max(position - len(data), 0))
            elif kept := keep(Unsafe("write", path, len(written), number)):
                data += bytes(max(position - len(data), 0))
                data[position : position + kept] = written[:kept]
        return _Bytes(bytes(data), self.modified_ms)


class _Renamed(NamedTuple):
    number: int
    old: str | None
    """None for one that is new here."""
    new: str | None
    """None for one that is gone."""
    thing: _Bytes | _Names


class _Names:
    """Of a directory."""

    __slots__ = ("changes", "safe", "things")

    def __init__(self) -> None:
        self.things: dict[str, _Bytes | _Names] = {}
        self.safe: dict[str, _Bytes | _Names] = {}
        self.changes: list[_Renamed] = []

    def change(self, number: int, old: str | None, new: str | None, thing: _Bytes | _Names) -> None:
        change = _Renamed(number, old, new, thing)
        self.changes.append(change)
        _apply(change, self.things)

    def sync(self) -> None:
        self.safe = dict(self.things)
        self.changes.clear()

    def found(self, disk: SimulatedDisk, path: Path, keep: Keep) -> _Names:
        things = dict(self.things if keep is everything else self.safe)
        if keep is not everything:
            for change in self.changes:
                kind = "create" if change.old is None else "remove" if change.new is None else "rename"
                if keep(Unsafe(kind, path / (change.new or change.old or ""), 1, change.number)):
                    _apply(change, things)
        found = _Names()
        found.things = {name: thing.found(disk, path / name, keep) for name, thing in things.items()}
        found.safe = dict(found.things)
        return found


def _apply(change: _Renamed, things: dict[str, _Bytes | _Names]) -> None:
    if change.old is None:
        assert change.new is not None
        things[change.new] = change.thing
    elif change.new is None:
        things.pop(change.old, None)
    elif things.get(change.old) is change.thing:
        # What was forgotten cannot be renamed.
        things[change.new] = things.pop(change.old)


class SimulatedFile(File):
    __slots__ = ("_bytes", "_disk", "path")

    def __init__(self, disk: SimulatedDisk, path: Path, content: _Bytes) -> None:
        self._disk = disk
        self.path = path
        self._bytes = content

    @property
    def descriptor(self) -> None:
        return None

    def size(self) -> int:
        return len(self._bytes.data)

    def read(self, position: int, length: int) -> bytes:
        return bytes(self._bytes.data[position : position + length])

    def write(self, position: int, chunks: Sequence[bytes | bytearray | memoryview]) -> None:
        self._disk.count("write", self.path)
        content, data = self._bytes, b"".join(chunks)
        assert position >= _mapped(content), f"{self.path} is written to where it is mapped"
        room = max(position, len(content.data)) + self._disk.free - position
        taken = data[: max(room, 0)]
        if taken:
            content.changes.append(_Write(self._disk.next_number(), position, taken))
            content.resize(max(len(content.data), position + len(taken)))
            content.data[position : position + len(taken)] = taken
        if len(taken) < len(data):
            raise _error(errno.ENOSPC, self.path)

    def truncate(self, size: int) -> None:
        self._disk.count("truncate", self.path)
        content = self._bytes
        assert size >= _mapped(content), f"{self.path} is cut to {size} bytes while it is mapped"
        self._set_size(size)

    def _set_size(self, size: int) -> None:
        content = self._bytes
        content.find_mapped_writes(self._disk)
        if size - len(content.data) > self._disk.free:
            raise _error(errno.ENOSPC, self.path)
        if size != len(content.data):
            content.changes.append(_Write(self._disk.next_number(), size, None))
            content.resize(size)
            content.seen = content.seen[:size]

    def map(self, size: int) -> memoryview:
        self._disk.count("map", self.path)
        content = self._bytes
        assert not _mapped(content), f"{self.path} is mapped twice"
        if size > len(content.data):
            self._set_size(size)
        view = content.view = memoryview(content.data)[:size]
        content.seen = bytes(view)
        return view

    def sync(self) -> None:
        self._disk.count("sync", self.path)
        self._bytes.sync()


def _mapped(content: _Bytes) -> int:
    if content.view is None:
        return 0
    try:
        return content.view.nbytes
    except ValueError:  # it has been released
        content.view = None
        return 0


class _SimulatedLock(Lock):
    def __init__(self, held: dict[Path, str], path: Path) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        self._held.pop(self._path, None)


class SimulatedDisk(Disk):
    def __init__(self) -> None:
        self.capacity: int | None = None
        """In bytes of files."""
        self.counts: Counter[str] = Counter()
        self._root = _Names()
        self._number = 0
        self._failures: dict[tuple[str, int], int] = {}
        self._locks: dict[Path, str] = {}

    def found(self, keep: Keep) -> SimulatedDisk:
        """By the next process that runs on the machine; this one is of no use then."""
        disk = SimulatedDisk()
        disk._root = self._root.found(self, Path("/"), keep)
        disk.capacity = self.capacity
        return disk

    # Faults

    def fail(self, kind: str, number: int) -> None:
        """The `number`-th operation of the kind from now on fails."""
        self._failures[kind, self.counts[kind] + number] = errno.EIO

    def mend(self) -> None:
        """Nothing fails any more."""
        self._failures.clear()

    @property
    def used(self) -> int:
        return sum(len(content.data) for content in _files(self._root))

    @property
    def free(self) -> int:
        return 1 << 62 if self.capacity is None else max(self.capacity - self.used, 0)

    def count(self, kind: str, path: Path) -> None:
        self.counts[kind] += 1
        if self._failures and (code := self._failures.pop((kind, self.counts[kind]), None)) is not None:
            raise _error(code, path)

    def next_number(self) -> int:
        self._number += 1
        return self._number

    # Where things are

    def _find(self, path: Path) -> _Bytes | _Names | None:
        thing: _Bytes | _Names | None = self._root
        for name in path.parts[1:]:
            if not isinstance(thing, _Names):
                return None
            thing = thing.things.get(name)
        return thing

    def _file(self, path: Path) -> _Bytes:
        thing = self._find(path)
        if not isinstance(thing, _Bytes):
            raise _error(errno.ENOENT, path)
        return thing

    def _directory(self, path: Path) -> _Names:
        thing = self._find(path)
        if not isinstance(thing, _Names):
            raise _error(errno.ENOENT, path)
        return thing

    # Disk

    def open(self, path: Path, *, create: bool = True) -> File:
        content = self._find(path)
        if content is None and create:
            self.count("create", path)
            content = _Bytes()
            self._directory(path.parent).change(self.next_number(), None, path.name, content)
        if not isinstance(content, _Bytes):
            raise _error(errno.ENOENT, path)
        return SimulatedFile(self, path, content)

    def exists(self, path: Path) -> bool:
        return self._find(path) is not None

    def size(self, path: Path) -> int:
        return len(self._file(path).data)

    def modified_ms(self, path: Path) -> int:
        return self._file(path).modified_ms

    def set_modified_ms(self, path: Path, modified_ms: int) -> None:
        """Forgotten by no crash: nothing is decided by it but when something may go."""
        self._file(path).modified_ms = modified_ms

    def names(self, directory: Path) -> list[str]:
        return sorted(self._directory(directory).things)

    def is_directory(self, path: Path) -> bool:
        return isinstance(self._find(path), _Names)

    def make_directory(self, path: Path) -> None:
        if path != path.parent and self._find(path) is None:
            self.make_directory(path.parent)
            self.count("make_directory", path)
            self._directory(path.parent).change(self.next_number(), None, path.name, _Names())

    def read_file(self, path: Path) -> bytes:
        return bytes(self._file(path).data)

    def rename(self, old: Path, new: Path) -> None:
        assert old.parent == new.parent, "names move within their directory only"
        self.count("rename", new)
        thing = self._find(old)
        if thing is None:
            raise _error(errno.ENOENT, old)
        self._directory(old.parent).change(self.next_number(), old.name, new.name, thing)

    def remove(self, path: Path) -> None:
        thing = self._find(path)
        if isinstance(thing, _Bytes):
            self.count("remove", path)
            self._directory(path.parent).change(self.next_number(), path.name, None, thing)

    def remove_tree(self, directory: Path) -> None:
        names = self._directory(directory)
        for name, thing in list(names.things.items()):
            if isinstance(thing, _Names):
                self.remove_tree(directory / name)
            else:
                self.remove(directory / name)
        self._directory(directory.parent).change(self.next_number(), directory.name, None, names)

    def sync_directory(self, directory: Path) -> None:
        self.count("sync", directory)
        self._directory(directory).sync()

    def lock(self, path: Path, holder: str) -> Lock:
        if path in self._locks:
            raise DiskLocked(path, self._locks[path])
        self._locks[path] = holder
        return _SimulatedLock(self._locks, path)


def _files(names: _Names) -> Iterator[_Bytes]:
    for thing in names.things.values():
        if isinstance(thing, _Names):
            yield from _files(thing)
        else:
            yield thing


def _error(code: int, path: Path) -> OSError:
    return OSError(code, os.strerror(code), str(path))
