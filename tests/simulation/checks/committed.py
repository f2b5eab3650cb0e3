"""What counts of one log, whoever has it: once a leader's high watermark has passed a batch, every copy has these bytes
there, for good."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.protocol.batches import iterate_batches
from barnabas.storage.log import Log

__all__ = ["Committed", "Differs"]

_READ_BYTES = 1 << 20


class Differs(Exception):  # noqa: N818 - what was found
    """A copy is not what counts."""


class _Batch(NamedTuple):
    base_offset: int
    next_offset: int
    leader_epoch: int
    checksum: int

    def __str__(self) -> str:
        return f"{self.base_offset}..{self.next_offset - 1} of epoch {self.leader_epoch}, {self.checksum:08x}"


class Committed:
    def __init__(self) -> None:
        self._batches: list[_Batch] = []
        self._bases: list[int] = []

    @property
    def end_offset(self) -> int:
        return self._batches[-1].next_offset if self._batches else 0

    def grow(self, log: Log, high_watermark: int) -> None:
        """A leader says that so much counts."""
        for batch in _batches(log, self.end_offset, high_watermark):
            self._batches.append(batch)
            self._bases.append(batch.base_offset)

    def check(self, log: Log, start: int, end: int) -> None:
        """That the copy has what counts between these, as far as anything does."""
        start, end = max(start, log.start_offset), min(end, self.end_offset)
        if start >= end:
            return
        if log.end_offset < end:
            raise Differs(f"it ends at {log.end_offset}, and {end} counts")
        number = max(bisect_right(self._bases, start) - 1, 0)
        for batch in _batches(log, start, end):
            if number >= len(self._batches) or batch != self._batches[number]:
                what = self._batches[number] if number < len(self._batches) else "nothing"
                raise Differs(f"it has {batch}, and what counts is {what}")
            number += 1
        if number < len(self._batches) and self._batches[number].base_offset < end:
            raise Differs(f"it lacks {self._batches[number]}")


def _batches(log: Log, start: int, end: int) -> Iterator[_Batch]:
    """Those with records between these offsets."""
    while start < end:
        data = log.read(start, _READ_BYTES, end_offset=end, at_least_one=True).read()
        if not data:
            return
        for batch in iterate_batches(data):
            if batch.next_offset > start:
                checksum = zlib.crc32(data[batch.position : batch.end])
                yield _Batch(batch.base_offset, batch.next_offset, batch.partition_leader_epoch, checksum)
                start = batch.next_offset
