"""Which leader wrote what: the first offset of every leader epoch of one partition (KIP-101, KIP-320).

A follower asks its new leader where an epoch ended, and cuts off what it has beyond; so does a consumer, to find out
whether records that it has read were lost.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

__all__ = [
    "UNDEFINED_EPOCH",
    "UNDEFINED_EPOCH_OFFSET",
    "EpochEndOffset",
    "EpochEntry",
    "LeaderEpochs",
]

UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1

_EPOCH, _START_OFFSET = itemgetter(0), itemgetter(1)


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


class EpochEndOffset(NamedTuple):
    epoch: int
    end_offset: int


class LeaderEpochs:
    """In memory only, and valid at once; epochs_file.py says what of it is in the file.

    Both epochs and start offsets rise from entry to entry. `entries` is replaced and never changed: the thread that
    writes the file reads it."""

    __slots__ = ("entries",)

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self.entries: list[EpochEntry] = []
        for epoch, start_offset in entries:
            self.assign(epoch, start_offset)

    @property
    def latest_epoch(self) -> int | None:
        """The epoch of the last record, which is not the current one before that has written."""
        return self.entries[-1].epoch if self.entries else None

    @property
    def latest(self) -> EpochEntry | None:
        return self._entry(len(self.entries) - 1)

    @property
    def earliest(self) -> EpochEntry | None:
        return self._entry(0)

    def entry(self, epoch: int) -> EpochEntry | None:
        found = self._entry(bisect_left(self.entries, epoch, key=_EPOCH))
        return found if found is not None and found.epoch == epoch else None

    def previous(self, epoch: int) -> EpochEntry | None:
        """The entry before this epoch, which itself need not have one."""
        return self._entry(bisect_left(self.entries, epoch, key=_EPOCH) - 1)

    def next(self, epoch: int) -> EpochEntry | None:
        return self._entry(bisect_right(self.entries, epoch, key=_EPOCH))

    def epoch_for_offset(self, offset: int) -> int | None:
        """Who wrote this record; None before the first entry. Behind the end of the log it is the latest epoch."""
        index = bisect_right(self.entries, offset, key=_START_OFFSET) - 1
        return self.entries[index].epoch if index >= 0 else None

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEndOffset:
        """The largest epoch up to the one asked for, and where it ended: what OffsetForLeaderEpoch answers.

        The latest epoch ends at the end of the log. An epoch before all entries is answered as if it had been there
        and had ended where the first entry begins: its records are gone, and the follower has to start there."""
        if epoch == UNDEFINED_EPOCH or not self.entries or epoch > self.entries[-1].epoch:
            return EpochEndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
        if epoch == self.entries[-1].epoch:
            return EpochEndOffset(epoch, log_end_offset)
        index = bisect_right(self.entries, epoch, key=_EPOCH)
        return EpochEndOffset(self.entries[index - 1].epoch if index else epoch, self.entries[index].start_offset)

    def assign(self, epoch: int, start_offset: int) -> bool:
        """From this offset on, records are of this epoch. What contradicts goes: the latest word is the true one, even
        if its epoch is lower. True if that was news; a later start of the latest epoch is none."""
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"epoch {epoch} from offset {start_offset} cannot be: neither is ever negative")
        if self.entries and epoch == self.entries[-1].epoch and start_offset >= self.entries[-1].start_offset:
            return False
        kept = min(
            bisect_left(self.entries, epoch, key=_EPOCH), bisect_left(self.entries, start_offset, key=_START_OFFSET)
        )
        self.entries = [*self.entries[:kept], EpochEntry(epoch, start_offset)]
        return True

    def learn(self, epoch: int, start_offset: int) -> None:
        """From a batch that is in the log: only an epoch later than all others is news."""
        if epoch > (self.entries[-1].epoch if self.entries else UNDEFINED_EPOCH):
            self.assign(epoch, start_offset)

    def truncate_from_end(self, end_offset: int) -> bool:
        """The log now ends here: epochs that began here or later go. A negative offset means nothing, as in Kafka."""
        return end_offset >= 0 and self._keep(bisect_left(self.entries, end_offset, key=_START_OFFSET))

    def truncate_from_start(self, start_offset: int) -> bool:
        """The log now starts here, and so does the epoch that covers this offset, even if no record of it is left."""
        first = bisect_right(self.entries, start_offset, key=_START_OFFSET) - 1
        if first < 0 or (first == 0 and self.entries[0].start_offset == start_offset):
            return False
        self.entries = [EpochEntry(self.entries[first].epoch, start_offset), *self.entries[first + 1 :]]
        return True

    def clear(self) -> bool:
        return self._keep(0)

    def _keep(self, count: int) -> bool:
        if count == len(self.entries):
            return False
        self.entries = self.entries[:count]
        return True

    def _entry(self, index: int) -> EpochEntry | None:
        return self.entries[index] if 0 <= index < len(self.entries) else None

    def __repr__(self) -> str:
        return f"LeaderEpochs({[tuple(entry) for entry in self.entries]})"
