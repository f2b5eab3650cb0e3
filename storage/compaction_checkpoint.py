"""`cleaner-offset-checkpoint`: up to where the logs of one log directory have been compacted."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from barnabas.storage.checkpoints import CLEANER_OFFSET_CHECKPOINT, read_offsets, write_offsets
from barnabas.storage.disk import Disk

__all__ = ["CleanerCheckpoint"]


class CleanerCheckpoint:
    """The file, which is written with every change. MalformedFile says what to do with one that cannot be read."""

    def __init__(self, disk: Disk, directory: Path) -> None:
        self._disk = disk
        self._path = directory / CLEANER_OFFSET_CHECKPOINT
        self._offsets = read_offsets(disk, self._path)

    def offset(self, topic: str, partition: int) -> int | None:
        """None for a log that never was compacted."""
        return self._offsets.get((topic, partition))

    def set(self, topic: str, partition: int, offset: int) -> None:
        self._write({**self._offsets, (topic, partition): offset})

    def truncate(self, topic: str, partition: int, offset: int) -> None:
        """The log has been cut off there: what will be appended is dirty."""
        if self._offsets.get((topic, partition), 0) > offset:
            self.set(topic, partition, offset)

    def keep_only(self, partitions: Collection[tuple[str, int]]) -> None:
        """Forget the logs that are gone, or that another directory has now."""
        kept = {key: offset for key, offset in self._offsets.items() if key in partitions}
        if len(kept) < len(self._offsets):
            self._write(kept)

    def _write(self, offsets: dict[tuple[str, int], int]) -> None:
        write_offsets(self._disk, self._path, offsets)
        self._offsets = offsets
