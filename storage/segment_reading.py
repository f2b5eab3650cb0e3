"""One segment of a log, a file of record batches, and the indexes that find places in it: what is asked of it.

The segment's name is the offset at which it begins. Batches are opaque: their headers are read, their bytes only to
look up a time and to check them. Indexes have no checksum: what one leads to is looked at before it is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from barnabas.protocol.batches import NO_TIMESTAMP, Batch, batch_at
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.record import read_records
from barnabas.storage.disk import Disk, File
from barnabas.storage.file_slice import FileSlice
from barnabas.storage.index import CorruptIndex, OffsetIndex, TimeIndex
from barnabas.storage.place import Place, read_place
from barnabas.storage.transaction_index import TransactionIndex

__all__ = ["SUFFIXES", "CorruptSegment", "ReadableSegment", "file_name"]

SUFFIXES = (".log", ".index", ".timeindex", ".txnindex")


def file_name(offset: int, suffix: str) -> str:
    return f"{offset:020d}{suffix}"


class CorruptSegment(KafkaError):  # noqa: N818 - a state of the file
    """The bytes at a position of a segment are no batch. Whoever asks for them is told; the rest can be read."""

    def __init__(self, path: Path, position: int, why: str) -> None:
        super().__init__(ErrorCode.CORRUPT_MESSAGE, f"{path} holds no batch at byte {position}: {why}")
        self.position = position


class ReadableSegment:
    """The files of one segment. `size` and the offsets are kept here; the indexes open when they are asked."""

    def __init__(
        self, disk: Disk, directory: Path, base_offset: int, *, index_max_bytes: int, created_ms: int, suffix: str = ""
    ) -> None:
        self.disk = disk
        self.directory = directory
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.suffix = suffix
        self._file: File | None = None
        self.offset_index = OffsetIndex(disk, self.path(".index"), base_offset, index_max_bytes)
        self.time_index = TimeIndex(disk, self.path(".timeindex"), base_offset, index_max_bytes)
        log = self.path(".log")
        try:
            self.size = disk.size(log)
        except FileNotFoundError:
            self._file = disk.open(log)
            self.size = 0
            # Kafka misses the one and not the other. After a stop that is an error in its log; after a kill it reads
            # that segment before all others, and would learn from it where an epoch begins that began earlier.
            self.offset_index.make()
            self.time_index.begin()
        self.transaction_index = TransactionIndex(disk, self.path(".txnindex"), base_offset)
        self._latest: tuple[int, int] | None = None
        self._first_timestamp: int | None = None

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

    # Whether the indexes can be believed

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

    def check_indexes(self) -> None:
        """Raise CorruptIndex if an index is missing or cannot belong to this log."""
        for index in (self.offset_index, self.time_index):
            if not self.disk.exists(index.path):
                raise CorruptIndex(f"{index.path} is missing")
        self.offset_index.check(self.size)
        self.time_index.check()
        self.transaction_index.check()
