"""The only place that makes file calls: everything in storage/ is given a `Disk` and uses nothing else.

So the same code runs on the system's files (`SystemDisk`), in memory alone (memory_disk.py, durability=memory), and
in tests on a disk that fills up, fails, tears writes or forgets what was not synced.

All calls are synchronous, and any may raise OSError.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import shutil
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

__all__ = [
    "DirectoryLock",
    "Disk",
    "DiskLocked",
    "File",
    "Lock",
    "ReadOnlyDisk",
    "SystemDisk",
    "is_locked",
    "lower_priority",
]

# A vector of buffers for one call: the system takes no more than IOV_MAX of them.
_MOST_CHUNKS = 1024


class File(ABC):
    """An open file. It stays open as long as anybody refers to it: whoever still sends a slice of it keeps it."""

    path: Path

    @property
    @abstractmethod
    def descriptor(self) -> int | None:
        """For sendfile; None for a file that is in memory only."""

    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def read(self, position: int, length: int) -> bytes:
        """At most `length` bytes; fewer where the file ends."""

    def read_into(self, position: int, buffer: memoryview) -> int:
        """Fill the buffer and return how many bytes there are; fewer where the file ends."""
        data = self.read(position, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    @abstractmethod
    def write(self, position: int, chunks: Sequence[bytes | bytearray | memoryview]) -> None:
        """All of the chunks or an OSError; then the file may have become longer by a part of them."""

    @abstractmethod
    def truncate(self, size: int) -> None: ...

    @abstractmethod
    def map(self, size: int) -> memoryview:
        """The first `size` bytes, to be written in place. The space is really allocated first, so that a full disk is
        an error here and not a signal at some later write. The view must be released before the file is truncated."""

    @abstractmethod
    def sync(self) -> None:
        """Return when what was written cannot be lost any more."""


class Lock(ABC):
    """Held until released, or until its process ends."""

    @abstractmethod
    def release(self) -> None: ...


class DiskLocked(Exception):  # noqa: N818 - it is a state of the directory, and not a failure
    """Another process holds the lock; `holder` is what it wrote there about itself."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path} is held by {holder or 'another process'}")
        self.path = path
        self.holder = holder


class Disk(ABC):
    """A file system, as far as a log needs one."""

    @abstractmethod
    def open(self, path: Path, *, create: bool = True) -> File:
        """Open for reading and writing. A file that is missing is made; or it is a FileNotFoundError, for those who
        only read what others may have deleted."""

    @abstractmethod
    def exists(self, path: Path) -> bool: ...

    @abstractmethod
    def size(self, path: Path) -> int: ...

    @abstractmethod
    def modified_ms(self, path: Path) -> int: ...

    @abstractmethod
    def set_modified_ms(self, path: Path, modified_ms: int) -> None: ...

    @abstractmethod
    def names(self, directory: Path) -> list[str]:
        """What is in a directory, sorted."""

    @abstractmethod
    def is_directory(self, path: Path) -> bool: ...

    @abstractmethod
    def make_directory(self, path: Path) -> None:
        """With its parents; one that is there already is fine."""

    @abstractmethod
    def read_file(self, path: Path) -> bytes: ...

    @abstractmethod
    def rename(self, old: Path, new: Path) -> None:
        """Atomically; what was at `new` is gone."""

    @abstractmethod
    def remove(self, path: Path) -> None:
        """A file; one that is missing is fine."""

    @abstractmethod
    def remove_tree(self, directory: Path) -> None: ...

    @abstractmethod
    def sync_directory(self, directory: Path) -> None:
        """Make the names in a directory (renames, new files) as safe as `File.sync` makes contents."""

    @abstractmethod
    def lock(self, path: Path, holder: str) -> Lock:
        """Take the lock or raise DiskLocked; `holder` is what others are told."""

    def replace_file(self, path: Path, data: bytes) -> None:
        """Write a small file so that after a crash it is the old one or the new one, and never a part."""
        temporary = path.with_name(path.name + ".tmp")
        self.remove(temporary)
        file = self.open(temporary)
        file.write(0, [data])
        file.sync()
        self.rename(temporary, path)
        self.sync_directory(path.parent)


class SystemFile(File):
    __slots__ = ("_descriptor", "path")

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self.path = path
        self._descriptor = -1
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o644)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    @property
    def descriptor(self) -> int:
        return self._descriptor

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    # A sector that cannot be read ends a read before it, and is an error only to who asks for the rest: it must not
    # pass for the end of the file.

    def read(self, position: int, length: int) -> bytes:
        data = os.pread(self._descriptor, length, position)
        while 0 < len(data) < length and (more := os.pread(self._descriptor, length - len(data), position + len(data))):
            data += more
        return data

    def read_into(self, position: int, buffer: memoryview) -> int:
        count = os.preadv(self._descriptor, [buffer], position)
        while 0 < count < len(buffer) and (more := os.preadv(self._descriptor, [buffer[count:]], position + count)):
            count += more
        return count

    def write(self, position: int, chunks: Sequence[bytes | bytearray | memoryview]) -> None:
        while len(chunks) > _MOST_CHUNKS:
            self.write(position, chunks[:_MOST_CHUNKS])
            position += sum(map(len, chunks[:_MOST_CHUNKS]))
            chunks = chunks[_MOST_CHUNKS:]
        end = position + sum(map(len, chunks))
        position += os.pwritev(self._descriptor, chunks, position)
        if position < end:
            # A disk that becomes full takes a part, and says why only to who asks again.
            rest = b"".join(chunks)[position - end :]
            while rest:
                rest = rest[os.pwrite(self._descriptor, rest, end - len(rest)) :]

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def map(self, size: int) -> memoryview:
        os.posix_fallocate(self._descriptor, 0, size)
        return memoryview(mmap.mmap(self._descriptor, size))

    def sync(self) -> None:
        os.fdatasync(self._descriptor)


class ReadOnlyFile(SystemFile):
    """Opened so that the system itself would refuse to change it. What is mapped is a copy that nobody else sees."""

    __slots__ = ()

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = -1
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def map(self, size: int) -> memoryview:
        return memoryview(bytearray(self.read(0, size).ljust(size, b"\0")))


class SystemLock(Lock):
    """A POSIX record lock, because that is what Kafka takes on the same file. It keeps out other processes only, so
    that locks of this one are remembered here."""

    _held: ClassVar[set[Path]] = set()

    def __init__(self, path: Path, holder: str) -> None:
        self._path = path.resolve()
        if self._path in self._held:
            raise DiskLocked(path, holder)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            found = os.pread(self._descriptor, 200, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise
            raise DiskLocked(path, found) from None
        self._held.add(self._path)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, holder.encode(), 0)

    def release(self) -> None:
        """And no longer say who holds it: Kafka, which may be next, writes nothing there."""
        self._held.discard(self._path)
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


class DirectoryLock(Lock):
    """On a directory itself, so that nothing is left in it: what lies in a partition's directory is Kafka's."""

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            if error.errno != errno.EWOULDBLOCK:
                raise
            raise DiskLocked(directory, "") from None

    def release(self) -> None:
        os.close(self._descriptor)


def lower_priority(by: int) -> None:
    """Of this process, so that those who answer somebody come first. A batch, where the system knows such, does not
    interrupt them either when it wakes up."""
    os.nice(by)
    if hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


class SystemDisk(Disk):
    def open(self, path: Path, *, create: bool = True) -> File:
        return SystemFile(path, create=create)

    # Not Path's own methods where a start asks thousands of times: they are two to three times as slow.

    def exists(self, path: Path) -> bool:
        return os.path.exists(path)  # noqa: PTH110

    def size(self, path: Path) -> int:
        return os.stat(path).st_size  # noqa: PTH116

    def modified_ms(self, path: Path) -> int:
        return path.stat().st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: Path, modified_ms: int) -> None:
        os.utime(path, ns=(path.stat().st_atime_ns, modified_ms * 1_000_000))

    def names(self, directory: Path) -> list[str]:
        return sorted(os.listdir(directory))  # noqa: PTH208

    def is_directory(self, path: Path) -> bool:
        return path.is_dir()

    def make_directory(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    def read_file(self, path: Path) -> bytes:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = os.fstat(descriptor).st_size
            data = os.read(descriptor, size)
            while len(data) < size and (more := os.read(descriptor, size - len(data))):
                data += more
            return data
        finally:
            os.close(descriptor)

    def rename(self, old: Path, new: Path) -> None:
        os.replace(old, new)  # noqa: PTH105

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def remove_tree(self, directory: Path) -> None:
        shutil.rmtree(directory)

    def sync_directory(self, directory: Path) -> None:
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lock(self, path: Path, holder: str) -> Lock:
        return SystemLock(path, holder)


class ReadOnlyDisk(SystemDisk):
    """For those who look at what may be another's: a file that is missing is missing, and a write is an OSError."""

    def open(self, path: Path, *, create: bool = True) -> File:  # noqa: ARG002 - nothing is made here
        return ReadOnlyFile(path)

    def _refuse(self, path: Path) -> OSError:
        return OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    def set_modified_ms(self, path: Path, modified_ms: int) -> None:  # noqa: ARG002
        raise self._refuse(path)

    def make_directory(self, path: Path) -> None:
        raise self._refuse(path)

    def rename(self, old: Path, new: Path) -> None:  # noqa: ARG002
        raise self._refuse(old)

    def remove(self, path: Path) -> None:
        raise self._refuse(path)

    def remove_tree(self, directory: Path) -> None:
        raise self._refuse(directory)

    def sync_directory(self, directory: Path) -> None:
        """There is nothing that could be lost."""

    def lock(self, path: Path, holder: str) -> Lock:  # noqa: ARG002
        raise self._refuse(path)


def is_locked(path: Path) -> bool:
    """Whether somebody holds that lock, without taking it. No file, no lock."""
    if path.resolve() in SystemLock._held:
        return True  # of this process: to open and close the file would already give it up
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, asked)
        return bool(struct.unpack("hhqqi4x", answer)[0] != fcntl.F_UNLCK)
    finally:
        os.close(descriptor)
