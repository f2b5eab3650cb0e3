"""What a new log needs besides its own files before anything in it is safe: its name in the log directory, and the file
that says of which topic it is.

Nobody waits for that when a partition is made. The metadata has it, and from there it is made again if a power cut
takes it; so it is synced with the first records that have to be safe, and a thousand new ones share the sync of their
parent.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from barnabas.storage.disk import Disk
from barnabas.storage.partition_metadata import PARTITION_METADATA

__all__ = ["Birth", "NewNames"]


class NewNames:
    """Of the directories that were made in one log directory."""

    def __init__(self, disk: Disk, directory: Path) -> None:
        self._disk = disk
        self._directory = directory
        self._made = 0
        self._safe = 0

    def add(self) -> int:
        """The number of a name that is there now."""
        self._made += 1
        return self._made

    def sync(self, number: int) -> None:
        """In any thread: all that are there, unless that one is safe already."""
        if number > self._safe:
            made = self._made
            self._disk.sync_directory(self._directory)
            self._safe = max(self._safe, made)


class Birth:
    """Of one log, as long as it may not be safe."""

    __slots__ = ("_directory", "_disk", "_names", "_number")

    def __init__(self, disk: Disk, directory: Path, names: NewNames) -> None:
        self._disk = disk
        self._directory = directory
        self._names = names
        self._number = names.add()

    def sync(self) -> None:
        """In any thread: of a log that is deleted meanwhile nothing has to be safe."""
        with suppress(FileNotFoundError):
            self._disk.open(self._directory / PARTITION_METADATA, create=False).sync()
            self._disk.sync_directory(self._directory)
        self._names.sync(self._number)
