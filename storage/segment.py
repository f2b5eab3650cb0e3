"""One segment of a log, a file of record batches with its indexes: what changes it. What is only asked of it is in
segment_reading.py."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from barnabas.protocol.batches import LOG_OVERHEAD_BYTES, NO_TIMESTAMP, Batch
from barnabas.storage.disk import Disk
from barnabas.storage.index import MAX_RELATIVE_OFFSET, CorruptIndex
from barnabas.storage.index_rows import IndexRows
from barnabas.storage.producer_state import ProducerState
from barnabas.storage.segment_reading import ReadableSegment
from barnabas.storage.transaction_index import AbortedTransaction

__all__ = ["Segment"]


class Segment(ReadableSegment):
    """Appending, indexing, sealing, cutting off, renaming."""

    def __init__(
        self,
        disk: Disk,
        directory: Path,
        base_offset: int,
        *,
        index_max_bytes: int,
        index_interval_bytes: int,
        created_ms: int,
        suffix: str = "",
    ) -> None:
        super().__init__(
            disk, directory, base_offset, index_max_bytes=index_max_bytes, created_ms=created_ms, suffix=suffix
        )
        self.index_interval_bytes = index_interval_bytes
        self._bytes_since_row = 0
        self._uncut = False
        """Bytes of an append that failed are still behind `size`."""
        self._had_aborts = False

    # Appending

    def has_room(
        self, size: int, last_offset: int, latest_timestamp: int, now_ms: int, roll_bytes: int, roll_ms: int
    ) -> bool:
        """Whether batches of that size, up to that offset and time, still belong here and not into another segment."""
        return (
            self.size + size <= roll_bytes
            and not (self.size and self.waited_ms(now_ms, latest_timestamp) > roll_ms)
            and not self.offset_index.is_full
            and not self.time_index.is_full
            and last_offset - self.base_offset <= MAX_RELATIVE_OFFSET
        )

    def waited_ms(self, now_ms: int, timestamp: int) -> int:
        """How long the segment has been filling, by its records' times if they have any, or else by the clock."""
        first = self._first_timestamp if self._first_timestamp is not None else self.first_timestamp
        return timestamp - first if first is not None and first >= 0 else now_ms - self.created_ms

    def append(self, batches: Sequence[Batch], chunks: Sequence[bytes | memoryview]) -> int:
        """Write batches at the end, and return where. Their offsets are as stamped; `chunks` are their bytes.

        If writing fails, the file is as it was before and nothing has been indexed: the indexes get their space first,
        because a batch without its row would be written and not acknowledged.
        """
        position = start = self.size
        unindexed = self._bytes_since_row
        if len(batches) > 1:
            unindexed += sum([batch.size for batch in batches[:-1]])
        if unindexed > self.index_interval_bytes:
            self.offset_index.make_room(len(batches))
            self.time_index.make_room(len(batches) + 1)
        if self._uncut:
            self._cut()
        try:
            self.file.write(start, chunks)
        except OSError:
            self._uncut = True
            with suppress(OSError):
                self._cut()
            raise
        for batch in batches:
            self.note(batch, position)
            position += LOG_OVERHEAD_BYTES + batch.length
        self.size = position
        return start

    def _cut(self) -> None:
        """What is behind `size` was not acknowledged. As long as cutting it off fails, nothing is appended: a shorter
        batch would be followed by the rest of a longer one, and that might even be a whole batch."""
        self.file.truncate(self.size)
        self._uncut = False

    def note(self, batch: Batch, position: int) -> None:
        """Keep what the header of a batch at that position adds to the indexes."""
        latest = self._latest if self._latest is not None else self.latest
        if batch.max_timestamp > latest[0]:
            self._latest = latest = (batch.max_timestamp, batch.last_offset)
        if self._first_timestamp is None:
            self._first_timestamp = batch.max_timestamp
        if self._bytes_since_row > self.index_interval_bytes:
            # Several batches at once may find room for the row of one only; a row less is no harm.
            if not self.offset_index.is_full:
                self.offset_index.append(batch.last_offset, position)
            if not self.time_index.is_full:
                self.time_index.append_if_later(*latest)
            self._bytes_since_row = 0
        self._bytes_since_row += LOG_OVERHEAD_BYTES + batch.length

    def rows_to_come(self) -> IndexRows:
        """For batches that are there and have not been noted: `add` each, then `add_rows`."""
        return IndexRows(self.index_interval_bytes, self._bytes_since_row, self.latest)

    def add_rows(self, rows: IndexRows) -> None:
        self._bytes_since_row = rows.unindexed_bytes
        self._latest = rows.latest
        self.offset_index.extend(rows.offsets)
        self.time_index.extend(rows.times)

    def apply(self, producers: ProducerState, batch: Batch) -> None:
        """Let the producers take note of a batch that is in this segment. A transaction that it aborts is in the index
        first: only then may the last stable offset pass it."""
        completed = producers.completion(batch)
        if completed is not None and completed.aborted:
            self.transaction_index.append(
                AbortedTransaction(
                    completed.producer_id,
                    completed.first_offset,
                    completed.last_offset,
                    completed.last_stable_offset,
                )
            )
        producers.apply(batch)

    def forget_indexes(self) -> None:
        """Empty the indexes, to be filled again by `note`, batch for batch from the first."""
        self.offset_index.clear()
        self.time_index.clear()
        self.transaction_index.reset()
        self._begin_noting()

    def _begin_noting(self) -> None:
        self._latest = (NO_TIMESTAMP, self.base_offset)
        self._first_timestamp = None
        self._bytes_since_row = 0

    def begin_indexes_anew(self) -> None:
        """The same, and the files stay as they are until `finish_indexes` has seen whether they differ. Those of
        transactions, which few segments have, do not wait."""
        self._had_aborts = not self.transaction_index.is_empty()
        self.offset_index.begin_anew()
        self.time_index.begin_anew()
        self.transaction_index.reset()
        self._begin_noting()

    def finish_indexes(self, *, goes_on: bool, safely: bool) -> None:
        """As sealing leaves them, but if the segment `goes_on` nothing is written only for that. `safely`, what is
        written is on the disk then: nobody will look again whether it has come there."""
        rows = len(self.time_index)
        self.time_index.append_if_later(*self.latest)
        to_spare = len(self.time_index) - rows
        for index, spare in ((self.offset_index, 0), (self.time_index, to_spare)):
            if index.is_in_file(goes_on=goes_on, rows_to_spare=spare):
                index.leave()
            else:
                index.replace(safely=safely)
        if safely and (self._had_aborts or not self.transaction_index.is_empty()):
            self.transaction_index.sync()

    # Ending

    def seal(self) -> None:
        """Nothing more will be appended: the time index gets its last row, and both lose the space they do not need. Of
        a log that nobody has written to Kafka misses no time index."""
        if self._uncut:
            self._cut()
        self.time_index.append_if_later(*self.latest)
        self.offset_index.trim()
        if self.size or self.base_offset or self.disk.exists(self.time_index.path):
            self.time_index.trim()

    def seal_again(self) -> None:
        """Where a crash may have interrupted it."""
        self._learn_latest()
        self.seal()

    def sync(self) -> None:
        """In any thread: of a segment that is being deleted meanwhile, nothing is there that would have to be safe."""
        with suppress(FileNotFoundError):
            self.file.sync()
        self.offset_index.sync()
        self.time_index.sync()
        self.transaction_index.sync()

    def close(self) -> None:
        """Cleanly: as if sealed, so that the next one to open this finds nothing to mend."""
        self.seal()
        self.let_go()

    def let_go(self) -> None:
        """Of the indexes' files, which the next question opens again."""
        self.offset_index.close()
        self.time_index.close()
        self.transaction_index.close()

    def truncate(self, offset: int) -> int:
        """Drop all batches that hold `offset` or a later one, and return how many bytes went."""
        place = self.find(offset)
        self.offset_index.truncate(offset)
        self.time_index.truncate(offset)
        self.transaction_index.truncate_to(offset)
        if place is None:
            return 0
        removed = self.size - place.position
        self.file.truncate(place.position)
        self.size = place.position
        self._uncut = False
        self._bytes_since_row = 0
        self._first_timestamp = None
        self._latest = None
        try:
            self.check_last_rows()
            self._learn_latest()
        except CorruptIndex:
            self.index_again()
        return removed

    def index_again(self) -> None:
        """Both indexes anew from the headers of the batches; the aborted transactions are left alone."""
        self.offset_index.clear()
        self.time_index.clear()
        self._begin_noting()
        for batch, position in self.places():
            self.note(batch, position)

    def rename(self, suffix: str) -> None:
        """Give all files of the segment another ending, as `.deleted` or `.swap`; open slices do not notice."""
        log = self.path(".log")
        self.suffix = suffix
        self.disk.rename(log, self.path(".log"))
        self.offset_index.rename(self.path(".index"))
        self.time_index.rename(self.path(".timeindex"))
        self.transaction_index.rename(self.path(".txnindex"))

    def remove(self) -> None:
        """Delete the files. Whoever still holds a slice keeps the log's bytes until it lets go."""
        self.offset_index.remove()
        self.time_index.remove()
        self.transaction_index.delete()
        self.disk.remove(self.path(".log"))
