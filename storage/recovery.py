"""Reading a segment as if nothing but its batches could be trusted: after a crash, or when an index is gone.

Every batch from the first on is checked with its CRC. What follows the last good one was never acknowledged, or has
been damaged since; it is cut off, and all that is known of the segment is learned from what is left.

A start waits for this, so that most batches go through `_read_plain`, which looks at nothing but numbers. Whatever it
does not understand it leaves to `_take_next`, batch for batch: transactions, old formats, and all that is wrong.
"""

from __future__ import annotations

from collections import deque
from struct import Struct
from typing import NamedTuple

from barnabas.protocol import checksum
from barnabas.protocol.batches import (
    ATTRIBUTES_AT,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    Attributes,
    Batch,
    batch_at,
)
from barnabas.protocol.errors import KafkaError, MalformedFrame
from barnabas.storage.index import MAX_RELATIVE_OFFSET
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.producer import REMEMBERED_BATCHES
from barnabas.storage.producer_state import AppendOrigin, ProducerState
from barnabas.storage.segment import Segment

__all__ = ["Recovered", "recover_segment"]

_HEADER = Struct(">qiibIhi8xqq")
"""Base offset, length, leader epoch, magic, crc, attributes, last offset delta, max timestamp, producer id."""

_NOT_PLAIN = Attributes.TRANSACTIONAL | Attributes.CONTROL
_LEAST_LENGTH = HEADER_BYTES - LOG_OVERHEAD_BYTES
_WINDOW_BYTES = 1 << 20


class Recovered(NamedTuple):
    next_offset: int
    removed_bytes: int
    reason: str
    """Why bytes were removed."""


def recover_segment(
    segment: Segment, epochs: LeaderEpochs, producers: ProducerState, *, goes_on: bool = False, synced_offset: int = 0
) -> Recovered:
    """Make the segment whole again. `producers` have to be those at its beginning, and are those at its end then.

    What is as it should be is not written again. If the segment `goes_on`, because it is the last, it is not sealed.
    One that ends at the `synced_offset` is on disk then: as soon as it is sealed, the next start would not read it
    again, and trust what was written here. Any other may be lost, and is recovered once more.
    """
    segment.begin_indexes_anew()
    size = segment.size
    reader = _Reader(segment, epochs, producers)
    reason = reader.read_all()
    if reader.position < size:
        segment.file.truncate(reader.position)
        segment.size = reader.position
    segment.finish_indexes(goes_on=goes_on, safely=reader.following <= synced_offset)
    return Recovered(reader.following, size - reader.position, reason)


class _Reader:
    """Where the good batches end so far, and the offset behind them.

    The file is read window by window: copying is cheaper than the page faults of a mapping, and a bad sector is an
    OSError here and not a signal.
    """

    def __init__(self, segment: Segment, epochs: LeaderEpochs, producers: ProducerState) -> None:
        self.segment = segment
        self.epochs = epochs
        self.producers = producers
        self.position = 0
        self.following = segment.base_offset
        self._origin = 0
        """Where in the file the window begins."""

    def read_all(self) -> str:
        """Why what is left is not good, if there is a rest."""
        file, size = self.segment.file, self.segment.size
        window = memoryview(bytearray(min(_WINDOW_BYTES, size)))
        try:
            while self.position < size:
                self._origin = self.position
                view = window[: file.read_into(self._origin, window)]
                if not self._read_window(view) and not self._take_next(self._whole(view)):
                    return "the last batch is torn"
        except (MalformedFrame, KafkaError) as error:
            return str(error)
        return ""

    def _read_window(self, view: memoryview) -> bool:
        """The batches that are in it as a whole; False if there is none."""
        self._read_plain(view)
        while self._take_next(view):
            self._read_plain(view)
        return self.position > self._origin

    def _whole(self, view: memoryview) -> memoryview:
        """The batch that begins there and is longer than a window. One that would end behind the file is torn, and what
        there is of it need not be read."""
        size = LOG_OVERHEAD_BYTES + int.from_bytes(view[8:12], "big", signed=True)
        if len(view) < size <= self.segment.size - self._origin:
            return memoryview(self.segment.file.read(self._origin, size))
        return view

    def _take_next(self, view: memoryview) -> bool:
        """Look at one batch thoroughly."""
        batch = batch_at(view, self.position - self._origin)
        if batch is None:
            return False
        batch.check()
        in_order = self.following <= batch.base_offset <= batch.last_offset
        if not in_order or not self.segment.offset_index.can_hold(batch.last_offset):
            raise MalformedFrame(f"offset {batch.base_offset} where {self.following} or a later one was due")
        self.producers.check(batch, AppendOrigin.REPLICATION)
        self.segment.note(batch, self.position)
        self.epochs.learn(batch.partition_leader_epoch, batch.base_offset)
        self.segment.apply(self.producers, batch)
        self.following = batch.next_offset
        self.position += batch.size
        return True

    def _read_plain(self, view: memoryview) -> None:
        """Pass over batches of magic 2 that are right and outside of all transactions, until one is not.

        Only the last few batches of a producer are remembered: to know them, it is enough to know where these are.
        """
        origin, size = self._origin, len(view)
        at, following = self.position - origin, self.following
        unpack, crc32c = _HEADER.unpack_from, checksum.crc32c
        last_header = size - HEADER_BYTES
        highest_offset = self.segment.base_offset + MAX_RELATIVE_OFFSET
        latest_epoch = -1 if self.epochs.latest_epoch is None else self.epochs.latest_epoch
        undecided = self.producers.first_undecided_offset is not None
        rows = self.segment.rows_to_come()
        add = rows.add
        recent: dict[int, deque[int]] = {}
        while at <= last_header:
            base, length, epoch, magic, crc, attributes, delta, timestamp, producer_id = unpack(view, at)
            end = at + LOG_OVERHEAD_BYTES + length
            last = base + delta
            if (
                magic != 2
                or length < _LEAST_LENGTH
                or end > size
                or attributes & _NOT_PLAIN
                or (undecided and self.producers.in_transaction(producer_id))
                or not following <= base <= last <= highest_offset
                or crc32c(view[at + ATTRIBUTES_AT : end]) != crc
            ):
                break
            add(last, timestamp, origin + at, end - at)
            if epoch > latest_epoch:
                self.epochs.assign(epoch, base)
                latest_epoch = epoch
            if producer_id >= 0:
                places = recent.get(producer_id)
                if places is None:
                    places = recent[producer_id] = deque(maxlen=REMEMBERED_BATCHES)
                places.append(at)
            following = last + 1
            at = end
        if following == self.following:
            return
        self.segment.add_rows(rows)
        for place in sorted(place for places in recent.values() for place in places):
            self.producers.apply(Batch(view, place))
        self.position, self.following = origin + at, following
        self.producers.end_offset = following
