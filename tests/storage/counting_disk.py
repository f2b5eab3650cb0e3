"""The system's disk, and how often it was asked for what. Syncs are counted, not done: nobody cuts the power here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from barnabas.storage.disk import File, SystemDisk, SystemFile

__all__ = ["CountingDisk"]


class CountingDisk(SystemDisk):
    def __init__(self) -> None:
        self.syncs: list[Path] = []
        """Files and directories, in order."""
        self.changes: Counter[str] = Counter()
        """Of files, by their endings: created, written, cut, mapped, renamed or removed."""

    def forget(self) -> None:
        self.syncs.clear()
        self.changes.clear()

    def note_change(self, path: Path) -> None:
        self.changes[path.suffix or path.name] += 1

    def open(self, path: Path, *, create: bool = True) -> File:
        if not path.exists() and create:
            self.note_change(path)
        return _CountingFile(path, self, create=create)

    def rename(self, old: Path, new: Path) -> None:
        self.note_change(new)
        super().rename(old, new)

    def remove(self, path: Path) -> None:
        if path.exists():
            self.note_change(path)
        super().remove(path)

    def sync_directory(self, directory: Path) -> None:
        self.syncs.append(directory)


class _CountingFile(SystemFile):
    __slots__ = ("_change", "_syncs")

    def __init__(self, path: Path, disk: CountingDisk, *, create: bool) -> None:
        super().__init__(path, create=create)
        self._change: Callable[[Path], None] = disk.note_change
        self._syncs = disk.syncs

    def write(self, position: int, chunks: Sequence[bytes | bytearray | memoryview]) -> None:
        self._change(self.path)
        super().write(position, chunks)

    def truncate(self, size: int) -> None:
        self._change(self.path)
        super().truncate(size)

    def sync(self) -> None:
        self._syncs.append(self.path)
