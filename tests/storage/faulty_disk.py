"""A disk in memory that forgets, fills up and fails, as a test tells it to.

The model. A file is an inode: its bytes as running programs see them, the bytes that are safe, and the changes since
(writes, truncations, growth) in their order. `File.sync` makes one file's bytes safe and not its name. A directory's
names are apart from that: creating, renaming, removing and making a directory are changes of names, which are safe when
the directory that holds the name has been synced, and not because a file in it was. What is written through a mapping
is found by comparing, at the next operation of the disk, and counts as writes like any other, one for each run of
changed bytes. `crashed` gives the disk as it is found after a power cut: what was safe, and of the changes that were
not, those that the test wants, each one independently of all others - a write may be kept up to any byte, a later one
may survive an earlier one (bytes between are zeros), a truncation may be lost under a write that is kept, a rename may
be lost whose file is safe, a new name may lead to no bytes. This is harsher than any file system with a journal. A
change of names is skipped where what it needs was itself forgotten. Inside a write that was under way, `crashed` sees
that write as one more change. Reads never fail halfway, a rename is never half done, and bytes that are safe never
change: rot is a matter for test_corruption.py. A full disk takes a part of a write, as the kernel does; the space for a
mapping is had wholly or not at all. A mapping that is cut off under its owner is an assertion here, a SIGBUS elsewhere.
"""

from __future__ import annotations

import errno
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from barnabas.storage.disk import Disk, DiskLocked, File, Lock

__all__ = ["Crash", "FaultyDisk", "FaultyFile", "Keep", "Unsafe", "everything", "nothing", "random_part"]


class Crash(BaseException):
    """The power is gone. Not an Exception: no handler of the code under test may go on."""


class Unsafe(NamedTuple):
    """A change that a crash may forget."""

    kind: str
    """write, truncate, create, rename, remove or make_directory"""
    path: Path
    length: int
    """Bytes of a write; 1 for anything that happens or does not."""
    number: int
    """Of all changes since the disk began."""


Keep = Callable[[Unsafe], int]
"""How much of a change is still there after a crash, from 0 to its length."""

Hook = Callable[[str, Path], None]


def nothing(_change: Unsafe) -> int:
    return 0


def everything(change: Unsafe) -> int:
    return change.length


def random_part(seed: object) -> Keep:
    """Seeded: each change is kept, lost, or torn, and how often differs from seed to seed."""
    generator = random.Random(str(seed))
    kept, torn = generator.random(), generator.random() * 0.5

    def keep(change: Unsafe) -> int:
        if generator.random() < torn:
            return generator.randint(0, change.length)
        return change.length if generator.random() < kept else 0

    return keep


class _Change(NamedTuple):
    number: int
    position: int
    data: bytes | None
    """None for a file that is cut or lengthened to `position`."""


class _NameChange(NamedTuple):
    number: int
    kind: str
    directory: Path
    path: Path
    inode: _Inode | None = None
    old: Path | None = None


class _Inode:
    """The bytes of a file, whatever its name."""

    __slots__ = ("changes", "data", "modified_ms", "safe", "seen", "view")

    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)
        self.safe = data
        self.changes: list[_Change] = []
        self.modified_ms = 0
        self.view: memoryview | None = None
        self.seen = b""
        """The mapped bytes when they were last compared."""

    @property
    def mapped(self) -> int:
        if self.view is None:
            return 0
        try:
            return self.view.nbytes
        except ValueError:  # it has been released
            self.view = None
            return 0

    def resize(self, size: int) -> None:
        if size > len(self.data):
            self.data = self.data + bytes(size - len(self.data))
        elif size < len(self.data):
            self.data = self.data[:size]


class FaultyFile(File):
    __slots__ = ("disk", "inode", "path")

    def __init__(self, disk: FaultyDisk, path: Path, inode: _Inode) -> None:
        self.disk = disk
        self.path = path
        self.inode = inode

    @property
    def descriptor(self) -> None:
        return None

    def size(self) -> int:
        return len(self.inode.data)

    def read(self, position: int, length: int) -> bytes:
        self.disk.reading("read", self.path)
        return bytes(self.inode.data[position : position + length])

    def write(self, position: int, chunks: Sequence[bytes | bytearray | memoryview]) -> None:
        data = b"".join(chunks)
        disk = self.disk
        assert self.inode.mapped <= position, f"{self.path} is written to where it is mapped"
        try:
            disk.begin("write", self.path, (self.inode, position, data))
        except OSError:
            if disk.half_writes:
                self._take(position, data[: len(data) // 2])
            raise
        end = min(position + len(data), max(position, len(self.inode.data)) + disk.free)
        taken = data[: max(end - position, 0)]
        self._take(position, taken)
        if len(taken) < len(data):
            raise _error(errno.ENOSPC, self.path)
        disk.end("write", self.path)

    def _take(self, position: int, data: bytes) -> None:
        if data:
            self.disk.note(self.inode, position, data)
            self.inode.resize(max(len(self.inode.data), position + len(data)))
            self.inode.data[position : position + len(data)] = data

    def truncate(self, size: int) -> None:
        self.disk.begin("truncate", self.path)
        assert self.inode.mapped <= size, f"{self.path} is cut to {size} bytes while it is mapped"
        if size - len(self.inode.data) > self.disk.free:
            raise _error(errno.ENOSPC, self.path)
        if size != len(self.inode.data):
            self.disk.note(self.inode, size, None)
            self.inode.resize(size)
        self.disk.end("truncate", self.path)

    def map(self, size: int) -> memoryview:
        self.disk.begin("map", self.path)
        assert not self.inode.mapped, f"{self.path} is mapped twice"
        if size - len(self.inode.data) > self.disk.free:
            raise _error(errno.ENOSPC, self.path)
        if size > len(self.inode.data):
            self.disk.note(self.inode, size, None)
            self.inode.resize(size)
        view = self.inode.view = memoryview(self.inode.data)[:size]
        self.inode.seen = bytes(view)
        self.disk.mapped.append(self.inode)
        self.disk.end("map", self.path)
        return view

    def sync(self) -> None:
        self.disk.begin("sync", self.path)
        self.inode.safe = bytes(self.inode.data)
        self.inode.changes = []
        self.disk.end("sync", self.path)


class _FaultyLock(Lock):
    def __init__(self, held: set[Path], path: Path) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        self._held.discard(self._path)


class FaultyDisk(Disk):
    """`before` and `after` are called around every operation that changes anything; `capacity` is in bytes of files;
    `fail` makes operations fail."""

    def __init__(self, capacity: int | None = None) -> None:
        self.capacity = capacity
        self.before: Hook | None = None
        self.after: Hook | None = None
        self.counts: Counter[str] = Counter()
        """How many operations of each kind there have been."""
        self.failing = True
        """Whether what `fail` said happens, so that a test can look at what is there in between."""
        self.half_writes = False
        """Whether half of a write that fails is in the file."""
        self.dead = False
        self.mapped: list[_Inode] = []
        self._names: dict[Path, _Inode] = {}
        self._directories: set[Path] = {Path("/")}
        self._safe_names: dict[Path, _Inode] = {}
        self._safe_directories: set[Path] = {Path("/")}
        self._name_changes: list[_NameChange] = []
        self._under_way: tuple[_Inode, int, bytes] | None = None
        self._number = 0
        self._failures: dict[str, dict[int, int]] = {}
        self._locks: set[Path] = set()

    # Faults

    @property
    def used(self) -> int:
        return sum(len(inode.data) for inode in {id(inode): inode for inode in self._names.values()}.values())

    @property
    def free(self) -> int:
        return 2**62 if self.capacity is None else max(self.capacity - self.used, 0)

    def fail(self, kind: str, number: int = 1, code: int = errno.EIO, times: int = 1) -> None:
        """The `number`-th operation of the kind from now on fails, and so do as many as `times` says from it on."""
        first = self.counts[kind] + number
        self._failures.setdefault(kind, {}).update(dict.fromkeys(range(first, first + times), code))

    def mend(self) -> None:
        """Nothing fails any more."""
        self._failures.clear()

    def crashed(self, keep: Keep) -> FaultyDisk:
        """Another disk: this one, as it is found when the power comes back. This one is not changed."""
        self._compare_all()
        found = FaultyDisk()
        names, directories = self._surviving_names(keep)
        paths = {id(inode): path for path, inode in names.items()}
        inodes: dict[int, _Inode] = {}
        for inode in names.values():
            if id(inode) not in inodes:
                inodes[id(inode)] = _Inode(self._surviving_bytes(inode, paths[id(inode)], keep))
                inodes[id(inode)].modified_ms = inode.modified_ms
        found._names = {path: inodes[id(inode)] for path, inode in names.items()}
        found._directories = directories
        found._safe_names = dict(found._names)
        found._safe_directories = set(directories)
        return found

    def _surviving_names(self, keep: Keep) -> tuple[dict[Path, _Inode], set[Path]]:
        names, directories = dict(self._safe_names), set(self._safe_directories)
        for change in self._name_changes:
            if keep(Unsafe(change.kind, change.path, 1, change.number)):
                _apply(change, names, directories)
        # Without its directory there is no file.
        directories = {path for path in directories if all(parent in directories for parent in path.parents)}
        return {path: inode for path, inode in names.items() if path.parent in directories}, directories

    def _surviving_bytes(self, inode: _Inode, path: Path, keep: Keep) -> bytes:
        changes = list(inode.changes)
        if self._under_way is not None and self._under_way[0] is inode:
            changes.append(_Change(self._number + 1, *self._under_way[1:]))
        if keep is everything and self._under_way is None:
            return bytes(inode.data)
        data = bytearray(inode.safe)
        for number, position, written in changes:
            if written is None:
                if keep(Unsafe("truncate", path, 1, number)):
                    data = data[:position] + bytes(max(position - len(data), 0))
                continue
            kept = keep(Unsafe("write", path, len(written), number))
            if kept:
                data += bytes(max(position - len(data), 0))
                data[position : position + kept] = written[:kept]
        return bytes(data)

    def fingerprint(self) -> int:
        """Equal for disks that hold the same."""
        return hash(
            (
                frozenset(self._directories),
                frozenset((path, bytes(inode.data)) for path, inode in self._names.items()),
            )
        )

    def unsafe(self) -> list[Unsafe]:
        """All that a crash could forget now, but for a write that is under way."""
        self._compare_all()
        found = [Unsafe(change.kind, change.path, 1, change.number) for change in self._name_changes]
        for path, inode in self._names.items():
            for number, _position, data in inode.changes:
                found.append(Unsafe("truncate" if data is None else "write", path, len(data or b"1"), number))
        return sorted(found, key=lambda change: change.number)

    @property
    def under_way(self) -> Unsafe | None:
        """Inside `before` of a write: that write, as `crashed` sees it."""
        if self._under_way is None:
            return None
        inode, _, data = self._under_way
        path = next((path for path, each in self._names.items() if each is inode), Path("/unnamed"))
        return Unsafe("write", path, len(data), self._number + 1)

    def damage(self, path: Path, data: bytes) -> None:
        """Other bytes in a file, safely there."""
        inode = self._names[path]
        assert not inode.mapped
        inode.data = bytearray(data)
        inode.safe = data
        inode.changes = []

    # What every operation does

    def begin(self, kind: str, path: Path, under_way: tuple[_Inode, int, bytes] | None = None) -> None:
        self._compare_all()
        self._under_way = under_way
        self._call(self.before, kind, path)
        self._under_way = None
        self.reading(kind, path)

    def reading(self, kind: str, path: Path) -> None:
        if self.dead:
            raise Crash
        self.counts[kind] += 1
        code = self._failures.get(kind, {}).get(self.counts[kind])
        if code is not None and self.failing:
            raise _error(code, path)

    def end(self, kind: str, path: Path) -> None:
        self._call(self.after, kind, path)

    def _call(self, hook: Hook | None, kind: str, path: Path) -> None:
        if self.dead:
            raise Crash
        if hook is not None:
            try:
                hook(kind, path)
            except Crash:
                self.dead = True
                raise

    def note(self, inode: _Inode, position: int, data: bytes | None) -> None:
        self._number += 1
        inode.changes.append(_Change(self._number, position, data))

    def _note_name(self, kind: str, path: Path, inode: _Inode | None = None, old: Path | None = None) -> None:
        self._number += 1
        change = _NameChange(self._number, kind, path.parent, path, inode, old)
        assert old is None or old.parent == path.parent, "names move within their directory only"
        self._name_changes.append(change)
        _apply(change, self._names, self._directories)

    def _compare_all(self) -> None:
        for inode in self.mapped:
            self.compare(inode)
        self.mapped = [inode for inode in self.mapped if inode.mapped]

    def compare(self, inode: _Inode) -> None:
        """Find what was written through a mapping, also one that has been let go since."""
        seen = inode.seen
        if not seen or inode.data.startswith(seen):
            return
        now = bytes(inode.data[: len(seen)])
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
            self.note(inode, at, now[at:end])
            at = end
        inode.seen = now

    # Disk

    def open(self, path: Path, *, create: bool = True) -> File:
        if path not in self._names and create:
            self.begin("open", path)
            if path.parent not in self._directories:
                raise _error(errno.ENOENT, path)
            self._note_name("create", path, _Inode())
            self.end("open", path)
        else:
            self.reading("open", path)
        return FaultyFile(self, path, self._inode(path))

    def exists(self, path: Path) -> bool:
        return path in self._names or path in self._directories

    def size(self, path: Path) -> int:
        return len(self._inode(path).data)

    def modified_ms(self, path: Path) -> int:
        return self._inode(path).modified_ms

    def set_modified_ms(self, path: Path, modified_ms: int) -> None:
        """Forgotten by no crash: nothing is decided by it but when something may go."""
        self.begin("set_modified_ms", path)
        self._inode(path).modified_ms = modified_ms
        self.end("set_modified_ms", path)

    def names(self, directory: Path) -> list[str]:
        if directory not in self._directories:
            raise _error(errno.ENOENT, directory)
        return sorted(path.name for path in (*self._names, *self._directories) if path.parent == directory != path)

    def is_directory(self, path: Path) -> bool:
        return path in self._directories

    def make_directory(self, path: Path) -> None:
        for each in (*reversed(path.parents), path):
            if each not in self._directories:
                self.begin("make_directory", each)
                self._note_name("make_directory", each)
                self.end("make_directory", each)

    def read_file(self, path: Path) -> bytes:
        self.reading("read", path)
        return bytes(self._inode(path).data)

    def rename(self, old: Path, new: Path) -> None:
        self.begin("rename", new)
        self._inode(old)
        self._note_name("rename", new, old=old)
        self.end("rename", new)

    def remove(self, path: Path) -> None:
        if path in self._names:
            self.begin("remove", path)
            self._note_name("remove", path)
            self.end("remove", path)

    def remove_tree(self, directory: Path) -> None:
        for path in [path for path in self._names if directory in path.parents]:
            self.remove(path)
        self._directories = {path for path in self._directories if path != directory and directory not in path.parents}

    def sync_directory(self, directory: Path) -> None:
        self.begin("sync_directory", directory)
        if directory not in self._directories:
            raise _error(errno.ENOENT, directory)
        for change in self._name_changes:
            if change.directory == directory:
                _apply(change, self._safe_names, self._safe_directories)
        self._name_changes = [change for change in self._name_changes if change.directory != directory]
        self.end("sync_directory", directory)

    def lock(self, path: Path, holder: str) -> Lock:
        if path in self._locks:
            raise DiskLocked(path, holder)
        self._locks.add(path)
        return _FaultyLock(self._locks, path)

    def _inode(self, path: Path) -> _Inode:
        try:
            return self._names[path]
        except KeyError:
            raise _error(errno.ENOENT, path) from None


def _apply(change: _NameChange, names: dict[Path, _Inode], directories: set[Path]) -> None:
    if change.kind == "make_directory":
        directories.add(change.path)
    elif change.kind == "create":
        assert change.inode is not None
        names[change.path] = change.inode
    elif change.kind == "remove":
        names.pop(change.path, None)
    elif change.old in names:
        assert change.kind == "rename"
        names[change.path] = names.pop(change.old)


def _error(code: int, path: Path) -> OSError:
    return OSError(code, os.strerror(code), str(path))
