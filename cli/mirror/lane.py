"""One partition on its way: what is copied, what is being sent, and from where to read on; pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.cli.mirror.map import Position
from barnabas.cli.mirror.pieces import Piece
from barnabas.cli.mirror.runs import Runs
from barnabas.client.cluster import Partition
from barnabas.protocol.batches import increment_sequence
from barnabas.protocol.schema import Uuid

__all__ = ["NO_EPOCH", "Lane", "Load"]

NO_EPOCH = -1


class Load(NamedTuple):
    """What one answer of the source comes to."""

    pieces: list[Piece]
    end: int
    """From where it is read on."""
    epoch: int
    """The leader epoch of its last record."""


@dataclass(slots=True, eq=False)
class Lane:
    source: Partition
    target: Partition
    source_id: Uuid
    target_id: Uuid
    next: int
    """All before it is at the target."""
    target_next: int
    """Where the last of it ends there; others may have written behind that."""
    producer: tuple[int, int]
    sequence: int
    """Of the first record that is not there."""
    runs: Runs = field(default_factory=Runs)
    new_pairs: list[tuple[int, int]] = field(default_factory=list)
    """Runs that the map does not have yet."""
    written: dict[int, int] = field(default_factory=dict)
    """Those that it has: by the offset that names their record, that of the last of them."""
    loads: deque[Load] = field(default_factory=deque)
    """What has come, and is to be sent next."""
    pieces: deque[Piece] = field(default_factory=deque)
    """What is being sent."""
    plan: deque[tuple[int, int]] = field(default_factory=deque)
    """The same by its offsets at the source, and how many records from there on."""
    plan_end: int = 0
    """What is next when all of that is there."""
    epoch: int = NO_EPOCH
    """The leader epoch of the last of that."""
    fetch_offset: int = 0
    """What has been fetched may be ahead of what has been sent."""
    fetched_epoch: int = NO_EPOCH
    """The leader epoch of the last that was fetched: a source that has lost it would tell."""
    turn: int = 0
    """Raised whenever what was fetched ahead counts no more."""
    readable_end: int | None = None
    """Up to where the source's records are committed, as it said last."""
    moved: bool = False
    """The map does not know yet how far it is."""

    def __post_init__(self) -> None:
        self.fetch_offset = self.plan_end = self.next

    @classmethod
    def of_position(cls, source: Partition, target: Partition, at: Position, runs: Runs) -> Lane:
        lane = cls(
            source,
            target,
            Uuid.parse(at.id),
            Uuid.parse(at.target_id),
            at.next,
            at.target,
            at.producer,
            at.sequence,
            runs,
        )
        lane.plan.extend(at.plan)
        lane.plan_end, lane.epoch, lane.fetched_epoch = at.end, at.epoch, at.epoch
        return lane

    def position(self) -> Position:
        return Position(
            str(self.source_id),
            str(self.target_id),
            self.next,
            self.target_next,
            self.producer,
            self.sequence,
            tuple(self.plan),
            self.plan_end,
            self.epoch,
        )

    def begin_next(self) -> bool:
        """With the next load; whether there is anything in it to be sent."""
        assert not self.plan and not self.pieces, "one load after the other"
        load = self.loads.popleft()
        self.pieces.extend(load.pieces)
        self.plan.extend(run for piece in load.pieces for run in piece.runs)
        self.plan_end, self.epoch = load.end, load.epoch
        if not self.plan:
            self.next = load.end
        self.moved = True
        return bool(self.plan)

    @property
    def planned(self) -> int:
        """How many records are being sent."""
        return sum(count for _, count in self.plan)

    def arrived(self, count: int, base_offset: int | None) -> None:
        """So many of what is being sent are there, from that offset on; None: it is not known where."""
        self.moved = True
        self.sequence = increment_sequence(self.sequence, count)
        if base_offset is not None:
            self.target_next = base_offset + count
        while count:
            offset, there = self.plan[0]
            now = min(count, there)
            if base_offset is not None:
                if self.runs.add(offset, base_offset):
                    self.new_pairs.append((offset, base_offset))
                base_offset += now
            count -= now
            if now == there:
                self.plan.popleft()
            else:
                self.plan[0] = offset + now, there - now
            self.next = offset + now
        if not self.plan:
            self.next = self.plan_end

    def read_again(self) -> None:
        """What was fetched ahead is forgotten, and so is what was planned of it."""
        if self.plan:
            # That is the epoch of its end, and nobody has noted others.
            self.epoch = NO_EPOCH
        self.loads.clear()
        self.pieces.clear()
        self.plan.clear()
        self.plan_end = self.fetch_offset = self.next
        self.fetched_epoch = self.epoch
        self.turn += 1
        self.moved = True

    def translate(self, offset: int) -> int | None:
        """The offset at the target of the first record that is to be read from there on."""
        return self.runs.translate(offset, self.target_next)

    @property
    def lag(self) -> int:
        return 0 if self.readable_end is None else max(0, self.readable_end - self.next)
