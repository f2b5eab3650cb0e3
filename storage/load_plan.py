"""What a start has to read before it can serve, in pieces that anybody may do in any order, and how far it has come.

After a clean stop that is next to nothing. After a kill it is every segment from the recovery point on: of the pieces
the largest come first, so that at the end no thread or process is left alone with a large one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from barnabas.storage.disk import Disk
from barnabas.storage.log_directory import LogDirectory, LogPlace, TopicPartition

__all__ = ["LoadPlan", "Piece", "Progress", "bytes_to_recover", "plan_loading"]

_DIGITS = 20
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


class Piece(NamedTuple):
    """One log to load: independent of all others."""

    directory: Path
    """The log directory, as it is configured."""
    partition: TopicPartition
    future: bool
    place: LogPlace
    bytes_to_recover: int


class LoadPlan(NamedTuple):
    pieces: list[Piece]
    bytes_to_recover: int


def plan_loading(directories: Iterable[LogDirectory]) -> LoadPlan:
    """Everything that waits. The sizes of files are asked for, and nothing is read."""
    pieces = [
        _piece(directory, partition, future)
        for directory in directories
        for future, waiting in ((False, directory.waiting), (True, directory.waiting_futures))
        for partition in waiting
    ]
    pieces.sort(key=lambda piece: (-piece.bytes_to_recover, piece.partition))
    return LoadPlan(pieces, sum(piece.bytes_to_recover for piece in pieces))


def _piece(directory: LogDirectory, partition: TopicPartition, future: bool) -> Piece:
    place = directory.place(partition, future=future)
    return Piece(directory.path, partition, future, place, bytes_to_recover(directory.disk, place))


def bytes_to_recover(disk: Disk, place: LogPlace) -> int:
    """Of the segments that loading will read: the one that the recovery point ends in, and all behind it."""
    if place.recovery_point is None:
        return 0
    names = disk.names(place.path)
    bases = [int(name[:_DIGITS]) for name in names if len(name) == _DIGITS + 4 and name.endswith(".log")]
    first = max(bisect_right(bases, place.recovery_point - 1) - 1, 0)
    return sum(disk.size(place.path / f"{base:0{_DIGITS}d}.log") for base in bases[first:])


class Progress:
    """Counts what has been loaded and says so in one line at most every `every_ms`. Time is told to it."""

    def __init__(self, plan: LoadPlan, now_ms: int, *, every_ms: int = 1_000) -> None:
        self.partitions = len(plan.pieces)
        self.partitions_done = 0
        self.bytes = plan.bytes_to_recover
        self.bytes_done = 0
        self._advanced: dict[Piece, int] = {}
        """Bytes of pieces that are not done."""
        self._started_ms = now_ms
        self._said_ms = now_ms
        self._every_ms = every_ms

    @property
    def finished(self) -> bool:
        return self.partitions_done == self.partitions

    def advance(self, piece: Piece, count: int) -> None:
        """Of a piece that is large, before it is done."""
        self._advanced[piece] = self._advanced.get(piece, 0) + count
        self.bytes_done += count

    def note(self, piece: Piece) -> None:
        self.partitions_done += 1
        self.bytes_done += piece.bytes_to_recover - self._advanced.pop(piece, 0)

    def line(self, now_ms: int) -> str | None:
        """None while the last one is not old enough: whoever loads may ask after every piece."""
        if now_ms - self._said_ms < self._every_ms:
            return None
        self._said_ms = now_ms
        said = f"loaded {self.partitions_done} of {self.partitions} partitions"
        if self.bytes:
            said += f", read {_size(self.bytes_done)} of {_size(self.bytes)} that a crash left unchecked"
        passed_ms = now_ms - self._started_ms
        if not self.finished and 0 < self.bytes_done < self.bytes:
            left_s = passed_ms * (self.bytes - self.bytes_done) / self.bytes_done / 1_000
            said += f"; about {left_s:.0f} s left"
        return said


def _size(count: int) -> str:
    """In the largest unit of which there is one at least."""
    power = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{count} bytes" if power == 0 else f"{count / (1 << 10 * power):.1f} {_UNITS[power]}"
