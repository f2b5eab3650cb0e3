"""One partition's log: what is asked of it. Who may read up to where is told to `read`."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.file_slice import FileSlice
from barnabas.storage.segment import Segment
from barnabas.storage.transaction_index import AbortedTransaction

__all__ = ["FoundOffset", "ReadableLog"]


class FoundOffset(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int


class ReadableLog:
    """Segments, one after the other, and what may be read of them.

    start_offset     the first offset that may be read: records below may still lie in the first segment
    end_offset       the offset that the next record gets
    """

    def __init__(self, directory: Path, segments: list[Segment], start_offset: int, end_offset: int) -> None:
        self.directory = directory
        self.segments = segments
        self.start_offset = start_offset
        self.end_offset = end_offset

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    def __repr__(self) -> str:
        return f"Log({self.directory.name}, {self.start_offset} to {self.end_offset}, {len(self.segments)} segments)"

    def segment_number(self, offset: int) -> int:
        """Of the segment that would hold the offset."""
        found = bisect_right(self.segments, offset, key=lambda segment: segment.base_offset)
        return max(found - 1, 0)

    def read(
        self, offset: int, max_bytes: int, *, end_offset: int | None = None, at_least_one: bool = True
    ) -> FileSlice:
        """Batches from the one that holds `offset` on, of one segment, without touching them.

        `end_offset` is up to where this reader may see: the high watermark, the last stable offset, or the log's end.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{self.directory.name} has offsets {self.start_offset} to {self.end_offset}, not {offset}",
            )
        bound = self.end_offset if end_offset is None else min(end_offset, self.end_offset)
        try:
            for number in range(self.segment_number(offset), len(self.segments)) if offset < bound else ():
                segment = self.segments[number]
                place = segment.find(offset, checked=True)
                if place is not None:
                    limit = max(max_bytes, place.batch.size) if at_least_one else max_bytes
                    return segment.slice(place, limit, self._end_position(number, bound))
        except OSError as error:
            raise self._failed("read", error) from error
        return FileSlice(self.active.file, self.active.size, 0)

    def _end_position(self, number: int, bound: int) -> int:
        """Where in a segment the batches end that lie wholly below the bound."""
        segment = self.segments[number]
        following = self.segments[number + 1].base_offset if number + 1 < len(self.segments) else self.end_offset
        if bound >= following:
            return segment.size
        place = segment.find(bound)
        return place.position if place is not None else segment.size

    def end_of(self, part: FileSlice, bound: int) -> int:
        """An offset, `bound` at most, behind all records of what was read, as the index tells it: no batch is looked
        at, so that it may lie further behind."""
        number = next(number for number in range(len(self.segments)) if self.segments[number].file is part.file)
        following = self.segments[number + 1].base_offset if number + 1 < len(self.segments) else self.end_offset
        return min(self.segments[number].offset_index.offset_from(part.position + part.length) or following, bound)

    def aborted_transactions(self, offset: int, upper_bound_offset: int) -> list[AbortedTransaction]:
        """Those that overlap the offsets, for a reader that wants only what is committed."""
        found: list[AbortedTransaction] = []
        for segment in self.segments[self.segment_number(offset) :]:
            some = segment.transaction_index.collect(offset, upper_bound_offset)
            found += some.found
            if some.complete:
                break
        return found

    def find_timestamp(self, timestamp: int) -> FoundOffset | None:
        """The first record that is not earlier."""
        for segment in self.segments:
            if segment.latest[0] >= timestamp:
                found = segment.find_timestamp(timestamp, self.start_offset)
                if found is not None:
                    return FoundOffset(*found)
        return None

    def find_latest_timestamp(self) -> FoundOffset | None:
        """The first of the records with the highest timestamp. As Kafka it counts what was deleted before the start
        and is still there, and of records without a time has the first."""
        latest = max(self.segments, key=lambda segment: segment.latest[0])
        found = latest.find_timestamp(latest.latest[0], latest.base_offset)
        return None if found is None else FoundOffset(*found)

    def _failed(self, what: str, error: OSError) -> KafkaError:
        message = f"{self.directory}: {what} failed: {error.strerror or error}"
        failure = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, message)
        failure.__cause__ = error  # `raise from` alone would be lost where this is compiled
        return failure
