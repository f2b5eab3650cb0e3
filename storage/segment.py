"""One segment of a log: a file of record batches, and the indexes that find places in it.

The segment's name is the offset at which it begins. Batches are opaque: their headers are read, their bytes never.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from barnabas.protocol.batches import LOG_OVERHEAD_BYTES, NO_TIMESTAMP, Batch, batch_at
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.record import read_records
from barnabas.storage.disk import Disk, File
from barnabas.storage.file_slice import FileSlice
from barnabas.storage.index import MAX_RELATIVE_OFFSET, CorruptIndex, OffsetIndex, TimeIndex
from barnabas.storage.index_rows import IndexRows
from barnabas.storage.place import Place, read_place
from barnabas.storage.producer_state import ProducerState
from barnabas.storage.transaction_index import AbortedTransaction, TransactionIndex

__all__ = ["SUFFIXES", "CorruptSegment", "Segment", "file_name"]

SUFFIXES = (".log", ".index", ".timeindex", ".txnindex")


def file_name(offset: int, suffix: str) -> str:
    return f"{offset:020d}{suffix}"


class CorruptSegment(KafkaError):  # noqa: N818 - a state of the file
    """The bytes at a position of a segment are no batch. Whoever asks for them is told; the rest can be read."""

    def __init__(self, path: Path, position: int, why: str) -> None:
        super().__init__(ErrorCode.CORRUPT_MESSAGE, f"{path} holds no batch at byte {position}: {why}")
        self.position = position


class Segment:
    """The files of one segment. `size` and the offsets are kept here; the indexes open when they are asked."""

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
        self.disk = disk
        self.directory = directory
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.suffix = suffix
        self.index_interval_bytes = index_interval_bytes
        self._file: File | None = None
        log = self.path(".log")
        try:
            self.size = disk.size(log)
        except FileNotFoundError:
            self._file = disk.open(log)
            self.size = 0
        self.offset_index = OffsetIndex(disk, self.path(".index"), base_offset, index_max_bytes)
        self.time_index = TimeIndex(disk, self.path(".timeindex"), base_offset, index_max_bytes)
        self.transaction_index = TransactionIndex(disk, self.path(".txnindex"), base_offset)
        self._latest: tuple[int, int] | None = None
        self._first_timestamp: int | None = None
        self._bytes_since_row = 0
        self._uncut = False
        """Bytes of an append that failed are still behind `size`."""
        self._had_aborts = False

    @property
    def file(self) -> File:
        """Opened when it is first needed: of most segments, a start needs the size alone."""
        if self._file is None:
            self._file = self.disk.open(self.path(".log"), create=False)
        return self._file

    def path(self, suffix: str) -> Path:
        return self.directory / (file_name(self.base_offset, suffix) + self.suffix)

    def __repr__(self) -> str:
        return f"Segment({self.path('.log').name}, {self.size} bytes)"

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

    # Times

    @property
    def latest(self) -> tuple[int, int]:
        """The highest timestamp so far, and the last offset of the batch that has it; -1 without any.

        Until something is appended, an opened segment takes it from its time index, whose last row was written for
        this when the segment was sealed or closed; and where the batch does not say the same, from all batches.
        """
        if self._latest is None:
            last = self.time_index.last
            self._latest = last if self._is_time_of(*last) else self._latest_of(self.places())
        return self._latest

    def _is_time_of(self, timestamp: int, offset: int) -> bool:
        """Whether the batch that holds the offset has the timestamp: indexes carry no checksum, and by a wrong time
        retention would delete what it must not. No row at all is right where batches have no timestamps."""
        if timestamp < 0:
            return offset == self.base_offset and (self.first_timestamp or NO_TIMESTAMP) < 0
        place = self.find(offset)
        return place is not None and place.batch.base_offset <= offset and place.batch.max_timestamp == timestamp

    def _latest_of(self, places: Iterable[Place], latest: tuple[int, int] | None = None) -> tuple[int, int]:
        latest = latest or (NO_TIMESTAMP, self.base_offset)
        for batch, _ in places:
            if batch.max_timestamp > latest[0]:
                latest = (batch.max_timestamp, batch.last_offset)
        return latest

    def _learn_latest(self) -> None:
        """From the last row of the time index and the batches behind it."""
        last = self.time_index.last
        self._latest = self._latest_of(self.places_before(last[1]), last)

    @property
    def first_timestamp(self) -> int | None:
        """The highest timestamp of the first batch, from which rolling by time counts; None without a batch."""
        if self._first_timestamp is None and self.size:
            # Where the first header is damaged, the clock has to do: what follows can be appended all the same.
            with suppress(CorruptSegment):
                place = self.first_place(0)
                self._first_timestamp = place.batch.max_timestamp if place else None
        return self._first_timestamp

    @property
    def largest_timestamp(self) -> int:
        """What retention by time counts from: the records', or if they have none, the file's."""
        timestamp = self.latest[0]
        return timestamp if timestamp >= 0 else self.disk.modified_ms(self.path(".log"))

    def waited_ms(self, now_ms: int, timestamp: int) -> int:
        """How long the segment has been filling, by its records' times if they have any, or else by the clock."""
        first = self._first_timestamp if self._first_timestamp is not None else self.first_timestamp
        return timestamp - first if first is not None and first >= 0 else now_ms - self.created_ms

    # Finding

    def places(self, position: int = 0) -> Iterator[Place]:
        """The batches from a position on, by their headers alone."""
        while position < self.size:
            place = self._place_at(position)
            yield place
            position = place.end

    def _place_at(self, position: int) -> Place:
        try:
            return read_place(self.file, position, self.size, self.base_offset)
        except MalformedFrame as error:
            raise CorruptSegment(self.path(".log"), position, str(error)) from None

    def places_before(self, offset: int) -> Iterator[Place]:
        """The batches from the last row of the index on that does not lie behind the offset. What a row leads to has
        to be a batch that begins there at the latest, or else the row before it counts: an index has no checksum."""
        for position in self.offset_index.positions_for(offset):
            if position == 0:
                break
            if 0 < position < self.size:
                try:
                    place = self._place_at(position)
                except CorruptSegment:
                    continue
                if self.base_offset <= place.batch.base_offset <= offset:
                    yield place
                    yield from self.places(place.end)
                    return
        yield from self.places()

    def first_place(self, position: int) -> Place | None:
        return next(self.places(position), None)

    def whole(self, place: Place) -> Batch:
        """The batch with its records, where its header is not enough: a control batch says in them what it is."""
        if not place.batch.control:
            return place.batch
        return self.read_whole(place)

    def read_whole(self, place: Place) -> Batch:
        """The batch with its records, as its checksum says they were."""
        batch = batch_at(self.file.read(place.position, place.batch.size))
        assert batch is not None
        try:
            batch.check()
        except MalformedFrame as error:
            raise CorruptSegment(self.path(".log"), place.position, str(error)) from None
        return batch

    def find(self, offset: int, *, checked: bool = False) -> Place | None:
        """The first batch whose last offset is not below `offset`: the one that holds it, if it is there. Where it is
        not, a header that is wrong may be the reason: `checked`, the batch before the gap has to have its checksum."""
        previous = None
        for place in self.places_before(offset):
            if place.batch.last_offset >= offset:
                break
            previous = place
        else:
            place = None
        if checked and previous is not None and (place is None or place.batch.base_offset > offset):
            self.read_whole(previous)
        return place

    def read_next_offset(self, *, checked: bool = False) -> int:
        """The offset behind the last batch, found from the last row of the index on; `checked`, from a batch that has
        its checksum."""
        last = None
        for place in self.places_before(self.offset_index.last[0]):
            last = place
        if checked and last is not None:
            self.read_whole(last)
        return last.batch.next_offset if last is not None else self.base_offset

    def slice(self, place: Place, max_bytes: int, end_position: int) -> FileSlice:
        """Bytes from a batch on, `max_bytes` at most, and none behind `end_position`."""
        length = min(end_position - place.position, max_bytes)
        return FileSlice(self.file, place.position, max(length, 0))

    def find_timestamp(self, timestamp: int, first_offset: int) -> tuple[int, int, int] | None:
        """The first record from `first_offset` on that is not earlier than `timestamp`: its time, offset, and the epoch
        of the leader that appended it. Only the batch that holds it is decoded."""
        none = (NO_TIMESTAMP, self.base_offset)
        rows = self.time_index.rows_for(timestamp)
        row = next(row for row in rows if row == none or (row[0] <= timestamp and self._is_time_of(*row)))
        for place in self.places_before(max(row[1], first_offset)):
            if place.batch.max_timestamp >= timestamp and place.batch.last_offset >= first_offset:
                batch = self.read_whole(place)
                for record in read_records(batch):
                    if record.timestamp >= timestamp and record.offset >= first_offset:
                        return record.timestamp, record.offset, batch.partition_leader_epoch
        return None

    # Ending

    def seal(self) -> None:
        """Nothing more will be appended: the time index gets its last row, and both lose the space they do not need."""
        if self._uncut:
            self._cut()
        self.time_index.append_if_later(*self.latest)
        self.offset_index.trim()
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

    def check_last_rows(self) -> None:
        """Raise CorruptIndex unless the last row of each index is such that others can follow it: it is of a batch that
        is there."""
        offset, _ = self.offset_index.last
        following = self.read_next_offset()
        if len(self.offset_index) and offset >= following:
            raise CorruptIndex(f"{self.offset_index.path}: its last row is of offset {offset}, behind all batches")
        self.time_index.check(len(self.time_index) - 2)
        timestamp, offset = self.time_index.last
        if timestamp >= 0 and not self._is_time_of(timestamp, offset):
            why = f"its last row is of offset {offset} at time {timestamp}, which no batch has"
            raise CorruptIndex(f"{self.time_index.path}: {why}")

    def index_again(self) -> None:
        """Both indexes anew from the headers of the batches; the aborted transactions are left alone."""
        self.offset_index.clear()
        self.time_index.clear()
        self._begin_noting()
        for batch, position in self.places():
            self.note(batch, position)

    def check_indexes(self) -> None:
        """Raise CorruptIndex if an index is missing or cannot belong to this log."""
        for index in (self.offset_index, self.time_index):
            if not self.disk.exists(index.path):
                raise CorruptIndex(f"{index.path} is missing")
        self.offset_index.check(self.size)
        self.time_index.check()
        self.transaction_index.check()

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
