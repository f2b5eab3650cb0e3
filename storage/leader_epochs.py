"""Which leader wrote what: the first offset of every leader epoch of one partition (KIP-101, KIP-320).

A follower asks its new leader where an epoch ended, and cuts off what it has beyond; so does a consumer, to find out
whether records that it has read were lost.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Self

from barnabas.protocol.java_text import parse_integer
from barnabas.storage.checkpoints import read_checkpoint, write_checkpoint
from barnabas.storage.disk import Disk

__all__ = [
    "LEADER_EPOCH_CHECKPOINT",
    "UNDEFINED_EPOCH",
    "UNDEFINED_EPOCH_OFFSET",
    "EpochEndOffset",
    "EpochEntry",
    "LeaderEpochs",
]

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1

_REMEDY = (
    "delete the file, and .kafka_cleanshutdown and recovery-point-offset-checkpoint of the log directory, "
    "and the epochs are read from the records again"
)


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


class EpochEndOffset(NamedTuple):
    epoch: int
    end_offset: int


class LeaderEpochs:
    """In memory only, and valid at once. `dirty` says that the file no longer tells the same; who owns the log decides
    when to `save`. Kafka saves when an epoch begins, before its records, and later when entries went away: an entry
    too many does no harm after a crash, since loading the log cuts it off again, and one too few does.

    Both epochs and start offsets rise from entry to entry."""

    __slots__ = ("_epochs", "_saved", "_start_offsets", "dirty")

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self._epochs: list[int] = []
        self._start_offsets: list[int] = []
        for epoch, start_offset in entries:
            self.assign(epoch, start_offset)
        self.dirty = False
        self._saved: list[EpochEntry] = []
        """What the file says."""

    @classmethod
    def load(cls, disk: Disk, directory: Path) -> Self:
        """Entries that contradict later ones are dropped, as if they had been assigned one after the other."""
        entries = read_checkpoint(disk, directory / LEADER_EPOCH_CHECKPOINT, _parse_entry, _REMEDY)
        epochs = cls(entries)
        epochs.dirty = epochs.entries != entries
        epochs._saved = entries
        return epochs

    def save(self, disk: Disk, directory: Path) -> None:
        entries = self.entries
        lines = [f"{epoch} {start_offset}" for epoch, start_offset in entries]
        write_checkpoint(disk, directory / LEADER_EPOCH_CHECKPOINT, lines)
        self._saved = entries
        self.dirty = False

    def are_saved_below(self, end_offset: int) -> bool:
        """Whether the file tells the same of a log that ends there. What it says of epochs from there on, of which no
        record is in the log, whoever opens the log forgets."""
        below = [[entry for entry in some if entry.start_offset < end_offset] for some in (self.entries, self._saved)]
        return not self.dirty or below[0] == below[1]

    @property
    def entries(self) -> list[EpochEntry]:
        return list(map(EpochEntry, self._epochs, self._start_offsets))

    @property
    def latest_epoch(self) -> int | None:
        """The epoch of the last record, which is not the current one before that has written."""
        return self._epochs[-1] if self._epochs else None

    @property
    def latest(self) -> EpochEntry | None:
        return self._entry(len(self._epochs) - 1)

    @property
    def earliest(self) -> EpochEntry | None:
        return self._entry(0)

    def entry(self, epoch: int) -> EpochEntry | None:
        index = bisect_left(self._epochs, epoch)
        return self._entry(index) if self._epochs[index : index + 1] == [epoch] else None

    def previous(self, epoch: int) -> EpochEntry | None:
        """The entry before this epoch, which itself need not have one."""
        return self._entry(bisect_left(self._epochs, epoch) - 1)

    def next(self, epoch: int) -> EpochEntry | None:
        return self._entry(bisect_right(self._epochs, epoch))

    def epoch_for_offset(self, offset: int) -> int | None:
        """Who wrote this record; None before the first entry. Behind the end of the log it is the latest epoch."""
        index = bisect_right(self._start_offsets, offset) - 1
        return self._epochs[index] if index >= 0 else None

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEndOffset:
        """The largest epoch up to the one asked for, and where it ended: what OffsetForLeaderEpoch answers.

        The latest epoch ends at the end of the log. An epoch before all entries is answered as if it had been there
        and had ended where the first entry begins: its records are gone, and the follower has to start there."""
        if epoch == UNDEFINED_EPOCH or not self._epochs or epoch > self._epochs[-1]:
            return EpochEndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
        if epoch == self._epochs[-1]:
            return EpochEndOffset(epoch, log_end_offset)
        index = bisect_right(self._epochs, epoch)
        return EpochEndOffset(self._epochs[index - 1] if index else epoch, self._start_offsets[index])

    def assign(self, epoch: int, start_offset: int) -> bool:
        """From this offset on, records are of this epoch. What contradicts goes: the latest word is the true one, even
        if its epoch is lower. True if that was news; a later start of the latest epoch is none."""
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"epoch {epoch} from offset {start_offset} cannot be: neither is ever negative")
        if self._epochs and epoch == self._epochs[-1] and start_offset >= self._start_offsets[-1]:
            return False
        self._keep(0, min(bisect_left(self._epochs, epoch), bisect_left(self._start_offsets, start_offset)))
        self._epochs.append(epoch)
        self._start_offsets.append(start_offset)
        self.dirty = True
        return True

    def learn(self, epoch: int, start_offset: int) -> None:
        """From a batch that is in the log: only an epoch later than all others is news."""
        if epoch > (self._epochs[-1] if self._epochs else UNDEFINED_EPOCH):
            self.assign(epoch, start_offset)

    def truncate_from_end(self, end_offset: int) -> bool:
        """The log now ends here: epochs that began here or later go. A negative offset means nothing, as in Kafka."""
        return end_offset >= 0 and self._keep(0, bisect_left(self._start_offsets, end_offset))

    def truncate_from_start(self, start_offset: int) -> bool:
        """The log now starts here, and so does the epoch that covers this offset, even if no record of it is left."""
        first = bisect_right(self._start_offsets, start_offset) - 1
        if first < 0 or (first == 0 and self._start_offsets[0] == start_offset):
            return False
        self._keep(first, len(self._epochs))
        self._start_offsets[0] = start_offset
        self.dirty = True
        return True

    def clear(self) -> bool:
        return self._keep(0, 0)

    def _keep(self, start: int, stop: int) -> bool:
        if start == 0 and stop == len(self._epochs):
            return False
        self._epochs = self._epochs[start:stop]
        self._start_offsets = self._start_offsets[start:stop]
        self.dirty = True
        return True

    def _entry(self, index: int) -> EpochEntry | None:
        if not 0 <= index < len(self._epochs):
            return None
        return EpochEntry(self._epochs[index], self._start_offsets[index])

    def __repr__(self) -> str:
        return f"LeaderEpochs({[tuple(entry) for entry in self.entries]})"


def _parse_entry(words: list[str]) -> EpochEntry:
    if len(words) != 2:
        raise ValueError("it is not an epoch and an offset")
    entry = EpochEntry(parse_integer(words[0], 32), parse_integer(words[1], 64))
    if min(entry) < 0:
        raise ValueError("neither epoch nor offset is ever negative")
    return entry
