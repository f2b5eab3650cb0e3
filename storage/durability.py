"""How safe an acknowledged record is, and the work of making it so.

kafka    in the page cache: it survives this process, and a power cut only where another replica has it
fsync    on the disk: nothing is acknowledged before; records that wait at the same time share one sync
memory   in this process alone: the directories are a `MemoryDisk`
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from barnabas.storage.disk import Disk, File

if TYPE_CHECKING:
    from barnabas.storage.birth import Birth
    from barnabas.storage.epochs_file import EpochsFile
    from barnabas.storage.segment import Segment

__all__ = ["Durability", "Unsynced"]


class Durability(Enum):
    KAFKA = "kafka"
    FSYNC = "fsync"
    MEMORY = "memory"


class Unsynced(NamedTuple):
    """What to sync, in any thread, before the log is told that it is safe up to `offset`."""

    disk: Disk
    files: Sequence[File]
    indexes: Sequence[Segment]
    directory: Path | None
    """If there are new names in it."""
    offset: int
    cuts: int
    """How often the log had been truncated: what was synced before then is not what is there."""
    birth: Birth | None = None
    """If the log is new."""
    epochs_file: EpochsFile | None = None
    """If nothing below `offset` will be read again to learn epochs from it."""

    def sync(self) -> None:
        for file in self.files:
            file.sync()
        for segment in self.indexes:
            segment.sync()
        names_are_safe = self.epochs_file is not None and self.epochs_file.save_below(self.offset)
        if self.birth is not None:
            self.birth.sync()
        elif self.directory is not None and not names_are_safe:
            self.disk.sync_directory(self.directory)
