"""What a program was about when it was killed: it notes each step, and each operation of its disk, in a small file that
is mapped into memory, where the note outlives the program. So a test of kills can say in what they fell."""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from barnabas.storage.disk import File, SystemDisk, SystemFile

__all__ = ["Note", "NotingDisk", "UnderWay", "read_under_way", "told"]

SIZE = 200

Result = TypeVar("Result")


class UnderWay(NamedTuple):
    step: str
    """What the program called what it did; empty between two steps."""
    operation: str
    """As `write .log`: what the disk did for it, or did last."""
    inside: bool
    """Whether that had begun and not ended."""


def read_under_way(path: Path) -> UnderWay:
    step, operation, inside = path.read_bytes().rstrip(b"\0").decode().split("\n")
    return UnderWay(step, operation, inside == "inside")


def told(kills: Sequence[UnderWay]) -> Iterator[str]:
    """For each step how many kills fell there, and in which operations of the disk."""
    for step in sorted({each.step for each in kills}):
        fell = [each for each in kills if each.step == step]
        inside = Counter(each.operation for each in fell if each.inside)
        operations = ", ".join(f"{operation} {count}" for operation, count in inside.most_common())
        yield f"{len(fell)} kills in {step or 'no step'}, {inside.total()} of them within {operations or 'no call'}"


class Note:
    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)
        self._step = self._operation = ""
        self._write(inside=False)

    def _write(self, *, inside: bool) -> None:
        text = "\n".join((self._step, self._operation, "inside" if inside else "after"))
        self._map[:] = text.encode().ljust(SIZE, b"\0")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self._step, self._operation = name, ""
        self._write(inside=False)
        yield
        self._step, self._operation = "", ""
        self._write(inside=False)

    def operation(self, kind: str, path: Path, work: Callable[[], Result]) -> Result:
        # Of a segment's file the name without its offset, as `.log` or `.log.swap`.
        name = path.name[20:] if path.name[:20].isdecimal() else path.name
        self._operation = f"{kind} {name}"
        self._write(inside=True)
        result = work()
        self._write(inside=False)
        return result


class NotingFile(SystemFile):
    __slots__ = ("_note",)

    def __init__(self, note: Note, path: Path, *, create: bool) -> None:
        self._note = note
        super().__init__(path, create=create)

    def write(self, position: int, chunks: Sequence[bytes | bytearray | memoryview]) -> None:
        self._note.operation("write", self.path, lambda: super(NotingFile, self).write(position, chunks))

    def truncate(self, size: int) -> None:
        self._note.operation("truncate", self.path, lambda: super(NotingFile, self).truncate(size))

    def map(self, size: int) -> memoryview:
        return self._note.operation("map", self.path, lambda: super(NotingFile, self).map(size))

    def sync(self) -> None:
        self._note.operation("sync", self.path, lambda: super(NotingFile, self).sync())


class NotingDisk(SystemDisk):
    def __init__(self, note: Note) -> None:
        self.note = note

    def open(self, path: Path, *, create: bool = True) -> File:
        return NotingFile(self.note, path, create=create)

    def rename(self, old: Path, new: Path) -> None:
        self.note.operation("rename", new, lambda: super(NotingDisk, self).rename(old, new))

    def remove(self, path: Path) -> None:
        self.note.operation("remove", path, lambda: super(NotingDisk, self).remove(path))

    def sync_directory(self, directory: Path) -> None:
        self.note.operation("sync", directory / "directory", lambda: super(NotingDisk, self).sync_directory(directory))
