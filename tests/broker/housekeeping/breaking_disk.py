"""The system's disk, until a test breaks a part of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from barnabas.storage.disk import File, SystemDisk, SystemFile

__all__ = ["BreakingDisk"]


class BreakingDisk(SystemDisk):
    def __init__(self, code: int = errno.EIO) -> None:
        self._code = code
        self.broken: dict[Path, set[str]] = {}
        """Which operations fail below a directory: write, sync, read."""

    def break_at(self, directory: Path, *operations: str) -> None:
        self.broken[directory] = set(operations)

    def check(self, path: Path, operation: str) -> None:
        for directory, operations in self.broken.items():
            if operation in operations and directory in path.parents:
                raise OSError(self._code, os.strerror(self._code), str(path))

    def open(self, path: Path, *, create: bool = True) -> File:
        return _BreakingFile(self, path, create=create)


class _BreakingFile(SystemFile):
    __slots__ = ("_disk",)

    def __init__(self, disk: BreakingDisk, path: Path, *, create: bool) -> None:
        super().__init__(path, create=create)
        self._disk = disk

    def read(self, position: int, length: int) -> bytes:
        self._disk.check(self.path, "read")
        return super().read(position, length)

    def write(self, position: int, chunks: Sequence[bytes | bytearray | memoryview]) -> None:
        self._disk.check(self.path, "write")
        super().write(position, chunks)

    def sync(self) -> None:
        self._disk.check(self.path, "sync")
        super().sync()
