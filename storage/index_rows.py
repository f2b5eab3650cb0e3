"""Rows of both indexes of a segment, gathered from batches one after the other before they are written at once."""

from __future__ import annotations

__all__ = ["IndexRows"]


class IndexRows:
    __slots__ = ("interval_bytes", "latest", "offsets", "times", "unindexed_bytes")

    def __init__(self, interval_bytes: int, unindexed_bytes: int, latest: tuple[int, int]) -> None:
        """`latest` is the highest timestamp so far and its offset."""
        self.interval_bytes = interval_bytes
        self.unindexed_bytes = unindexed_bytes
        self.latest = latest
        self.offsets: list[tuple[int, int]] = []
        self.times: list[tuple[int, int]] = []

    def add(self, last_offset: int, timestamp: int, position: int, size: int) -> None:
        if timestamp > self.latest[0]:
            self.latest = (timestamp, last_offset)
        if self.unindexed_bytes > self.interval_bytes:
            self.offsets.append((last_offset, position))
            self.times.append(self.latest)
            self.unindexed_bytes = 0
        self.unindexed_bytes += size
