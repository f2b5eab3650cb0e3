"""`leader-epoch-checkpoint`: what it says of a log's leader epochs, and the one place that writes it.

Whoever opens a log reads its records from the recovery point on, and learns every epoch that is later than all in the
file. So an epoch that begins need not be in the file before its records are, only before the recovery point passes its
beginning: the thread that syncs the records writes it (`save_below`). Where records would not tell, whoever changed the
epochs writes them at once (`save`); log.py knows where.

Both may want to write at the same time, and a log may move or be deleted meanwhile. None of these waits for the disk
that a thread waits for: the thread gives its file the name at the end, and if something else was written by then, or
the directory has another name, it begins again. So the file is never older than it was, and never in another log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Self

from barnabas.protocol.java_text import parse_integer
from barnabas.storage.checkpoints import checkpoint_text, read_checkpoint, write_checkpoint
from barnabas.storage.disk import Disk, File
from barnabas.storage.leader_epochs import EpochEntry, LeaderEpochs

__all__ = ["LEADER_EPOCH_CHECKPOINT", "UNNAMED", "EpochsFile"]

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
UNNAMED = f"{LEADER_EPOCH_CHECKPOINT}.synced.tmp"
"""Not the name that is used where nobody waits. A crash may leave it, and the next save takes it away."""

_REMEDY = (
    "delete the file, and .kafka_cleanshutdown and recovery-point-offset-checkpoint of the log directory, "
    "and the epochs are read from the records again"
)


class _Unnamed(NamedTuple):
    """A file that has all of it, and not its name."""

    file: File
    directory: Path
    entries: list[EpochEntry]
    before: list[EpochEntry]
    """What the file with the name said."""

    @property
    def path(self) -> Path:
        return self.directory / UNNAMED


class EpochsFile:
    __slots__ = ("_directory", "_disk", "_lock", "_one_thread", "_saved", "epochs")

    def __init__(self, disk: Disk, directory: Path, saved: Sequence[EpochEntry] = ()) -> None:
        """`saved` is what the file says. Of entries that contradict each other the later ones count, as if they had
        been assigned one after the other."""
        self.epochs = LeaderEpochs(saved)
        self._disk = disk
        self._directory: Path | None = directory
        self._saved = list(saved)
        """Another list after every save."""
        self._lock = Lock()
        """Of where the file is and what it says. Threads hold it while nothing has to be waited for."""
        self._one_thread = Lock()
        """Writes a file without a name."""

    @classmethod
    def load(cls, disk: Disk, directory: Path) -> Self:
        return cls(disk, directory, read_checkpoint(disk, directory / LEADER_EPOCH_CHECKPOINT, _parse_entry, _REMEDY))

    # What it says

    def covers(self, end_offset: int) -> bool:
        """Whether the file says all that is known of records below that offset. What it says of epochs from the end of
        the log on, and of those before its start, whoever opens the log forgets."""
        entries = self.epochs.entries
        return _below(end_offset, self._from_start(entries)) == _below(end_offset, entries)

    def is_beginning(self) -> bool:
        """Whether the file says the beginning of what is known, and nothing else."""
        entries = self.epochs.entries
        saved = self._from_start(entries)
        return saved == entries[: len(saved)]

    def _from_start(self, entries: Sequence[EpochEntry]) -> list[EpochEntry]:
        """What is left of the file when it is cut where the log starts."""
        if not entries:
            return self._saved
        first = entries[0]
        return [
            EpochEntry(epoch, max(start_offset, first.start_offset))
            for epoch, start_offset in self._saved
            if epoch >= first.epoch
        ]

    # Writing

    def save(self) -> None:
        """Everything, at once."""
        with self._lock:
            if self._directory is not None:
                entries = self.epochs.entries
                write_checkpoint(self._disk, self._directory / LEADER_EPOCH_CHECKPOINT, _lines(entries))
                self._saved = list(entries)

    def save_below(self, end_offset: int) -> bool:
        """In any thread: what is known of records below that offset. Whether anything had to be written; then all names
        in the directory are safe. An epoch that has written nothing yet is left out, for it may never do so."""
        with self._one_thread:
            while (unnamed := self._written_below(end_offset)) is not None:
                unnamed.file.sync()
                if self._named(unnamed):
                    self._sync_names()
                    return True
        return False

    def _written_below(self, end_offset: int) -> _Unnamed | None:
        with self._lock:
            if self._directory is None or self.covers(end_offset):
                return None
            entries = [one for one in self.epochs.entries if one.start_offset < end_offset or one in self._saved]
            path = self._directory / UNNAMED
            self._disk.remove(path)
            file = self._disk.open(path)
            file.write(0, [checkpoint_text(_lines(entries))])
            return _Unnamed(file, self._directory, entries, self._saved)

    def _named(self, unnamed: _Unnamed) -> bool:
        """Whether it was still what was wanted."""
        with self._lock:
            if self._directory != unnamed.directory:
                return False
            if self._saved is not unnamed.before:
                self._disk.remove(unnamed.path)
                return False
            self._disk.rename(unnamed.path, unnamed.directory / LEADER_EPOCH_CHECKPOINT)
            self._saved = unnamed.entries
            return True

    def _sync_names(self) -> None:
        """Of a log that is deleted meanwhile none has to be safe."""
        while (directory := self._directory) is not None:
            try:
                self._disk.sync_directory(directory)
            except FileNotFoundError:
                if self._directory == directory:
                    raise
            else:
                return

    @contextmanager
    def moving(self, to: Path | None) -> Iterator[None]:
        """While the log's directory gets another name. Later nobody writes under the old name, which may be another
        log's by then; for a log that is deleted (None) nobody writes at all."""
        with self._lock:
            yield
            self._directory = to


def _lines(entries: Sequence[EpochEntry]) -> list[str]:
    return [f"{epoch} {start_offset}" for epoch, start_offset in entries]


def _below(end_offset: int, entries: Sequence[EpochEntry]) -> list[EpochEntry]:
    return [entry for entry in entries if entry.start_offset < end_offset]


def _parse_entry(words: list[str]) -> EpochEntry:
    if len(words) != 2:
        raise ValueError("it is not an epoch and an offset")
    entry = EpochEntry(parse_integer(words[0], 32), parse_integer(words[1], 64))
    if min(entry) < 0:
        raise ValueError("neither epoch nor offset is ever negative")
    return entry
