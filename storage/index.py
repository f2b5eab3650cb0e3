"""The sparse indexes of a segment: `.index` leads from an offset to a position, `.timeindex` from a time to an offset.

Both are rows of fixed width in rising order, written in place through a mapping. The file grows by doubling and is
cut to its rows when its segment is sealed. What was allocated and not written is zeros, and no row is all zeros (the
first comes after some bytes of log), so that the rows of a file that was left behind untrimmed can be told.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import ClassVar

from barnabas.storage.disk import Disk

__all__ = ["CorruptIndex", "Index", "OffsetIndex", "TimeIndex"]

FIRST_ALLOCATION_BYTES = 4096
MAX_RELATIVE_OFFSET = 2**31 - 1


class CorruptIndex(Exception):  # noqa: N818 - a state of the file, which is mended by rebuilding it
    """An index cannot be what its segment says it is; it has to be built anew."""


class Index:
    """Rows of one width. Nothing is opened before a row is asked for."""

    row: ClassVar[Struct]
    rows_for_sealing: ClassVar[int] = 0
    """Left for the moment at which the segment is sealed."""

    def __init__(self, disk: Disk, path: Path, base_offset: int, max_bytes: int) -> None:
        self.disk = disk
        self.path = path
        self.base_offset = base_offset
        self.max_rows = max_bytes // self.row.size
        self._most = self.max_rows - self.rows_for_sealing
        self._map: memoryview | None = None
        self._room = 0
        """Rows that fit into the mapping."""
        self._count = 0
        self._last: tuple[int, int] | None = None
        """The last row, so that an append need not read it."""
        self._is_apart = False
        """Rows are in memory and not in the file, since `begin_anew`."""

    def begin(self) -> None:
        """Its segment is new, and nobody has to look for a file. What a crash has left under its name goes with the
        first row, or when the segment is sealed."""
        self._map = memoryview(b"")

    def make(self) -> None:
        """The same, and the file is there, empty."""
        self.clear()
        self.begin()

    def __len__(self) -> int:
        self._opened()
        return self._count

    @property
    def is_full(self) -> bool:
        return (len(self) if self._map is None else self._count) >= self._most

    def _opened(self) -> memoryview:
        if self._map is not None:
            return self._map
        size = self.disk.size(self.path) if self.disk.exists(self.path) else 0
        if size % self.row.size:
            raise CorruptIndex(f"{self.path} has {size} bytes, which is no multiple of {self.row.size}")
        self._map = self.disk.open(self.path, create=False).map(size) if size else memoryview(b"")
        empty = bytes(self.row.size)
        self._room = size // self.row.size
        self._count = bisect_left(range(self._room), True, key=lambda number: self._bytes(number) == empty)
        return self._map

    def _bytes(self, number: int) -> bytes:
        assert self._map is not None
        start = number * self.row.size
        return bytes(self._map[start : start + self.row.size])

    def make_room(self, rows: int) -> None:
        """So that so many more rows, or as many as there may be, do not ask the disk for anything."""
        if self._map is None:
            self._opened()
        while self._room < min(self._count + rows, self.max_rows):
            self._grow()

    def _append(self, first: int, second: int) -> None:
        view = self._map if self._map is not None else self._opened()
        if self._count >= self._room:
            view = self._grow()
        self.row.pack_into(view, self._count * self.row.size, first, second)
        self._count += 1

    def _extend(self, rows: Sequence[tuple[int, int]]) -> None:
        if not rows:
            return
        self.make_room(len(rows))
        rows = rows[: max(self.max_rows - self.rows_for_sealing - self._count, 0)]
        packed = b"".join([self.row.pack(first, second) for first, second in rows])
        start = self._count * self.row.size
        self._opened()[start : start + len(packed)] = packed
        self._count += len(rows)
        self._last = None

    def _grow(self) -> memoryview:
        size = self._room * self.row.size
        rows = min(max(2 * self._room, FIRST_ALLOCATION_BYTES // self.row.size), self.max_rows)
        if self._is_apart:
            self._map = memoryview(bytearray(self._packed().ljust(rows * self.row.size, b"\0")))
            self._room = rows
            return self._map
        file = self.disk.open(self.path)
        if not self._room:
            file.truncate(0)
        self._release()
        try:
            self._map = file.map(rows * self.row.size)
        except OSError:
            # A part of the space may have been found, and the file may end within a row then.
            with suppress(OSError):
                file.truncate(size)
            raise
        self._room = rows
        return self._map

    def _release(self) -> None:
        if self._map is not None:
            self._map.release()
            self._map = None
            self._room = 0

    def _keep(self, count: int) -> None:
        """Forget the rows behind the first `count`. The space stays, and is zeros again."""
        view = self._opened()
        start, end = count * self.row.size, self._count * self.row.size
        if start < end:
            view[start:end] = bytes(end - start)
        self._count = count
        self._last = None

    def clear(self) -> None:
        """No rows, whatever was in the file; also for one that is corrupt."""
        self._release()
        self.disk.open(self.path).truncate(0)
        self._count = 0
        self._last = None

    # All rows anew, from the batches. Most often they come out as they were, and then the file is left alone.

    def begin_anew(self) -> None:
        """No rows, until `leave` or `replace`; the file keeps its own."""
        self._release()
        self._map = memoryview(bytearray())
        self._count = 0
        self._last = None
        self._is_apart = True

    def is_in_file(self, *, goes_on: bool, rows_to_spare: int = 0) -> bool:
        """Whether the file has the same rows. If it `goes_on` they may be followed by the space for others, be there or
        not if there are none, and lack the last few."""
        rows = self._packed()
        try:
            file = self.disk.open(self.path, create=False)
        except FileNotFoundError:
            return goes_on and self._count <= rows_to_spare
        size = file.size()
        if size % self.row.size or size > max(2 * len(rows), FIRST_ALLOCATION_BYTES):
            return False
        found = file.read(0, size)
        if not goes_on:
            return found == rows
        ends = range(len(rows), len(rows) - (rows_to_spare + 1) * self.row.size, -self.row.size)
        return any(found == rows[:end].ljust(size, b"\0") for end in ends if 0 <= end <= size)

    def leave(self) -> None:
        """The file as it is."""
        self._release()
        self._last = None
        self._is_apart = False

    def replace(self, *, safely: bool) -> None:
        """The file's rows by these; `safely`, so that it never has rows that a power cut may change."""
        rows = self._packed()
        self.leave()
        if safely:
            self.disk.replace_file(self.path, rows)
            return
        file = self.disk.open(self.path)
        file.truncate(0)
        file.write(0, [rows])

    def _packed(self) -> bytes:
        return bytes(self._opened()[: self._count * self.row.size])

    def trim(self) -> None:
        """Cut the file to its rows, as a sealed segment's and a cleanly closed log's are."""
        if self._is_apart:
            return
        self._opened()
        self._release()
        self.disk.open(self.path).truncate(self._count * self.row.size)

    def close(self) -> None:
        """Let go of the file as it is; the next question opens it again."""
        self._release()

    def sync(self) -> None:
        """There may be no file yet, or none any more."""
        with suppress(FileNotFoundError):
            self.disk.open(self.path, create=False).sync()

    def rename(self, path: Path) -> None:
        """Follow a file that is renamed."""
        if self.disk.exists(self.path):
            self.disk.rename(self.path, path)
        self.path = path

    def remove(self) -> None:
        self._release()
        self.disk.remove(self.path)


class OffsetIndex(Index):
    """Rows of (offset, position): the batch that ends with the offset begins at the position."""

    row: ClassVar[Struct] = Struct(">ii")

    def can_hold(self, offset: int) -> bool:
        return 0 <= offset - self.base_offset <= MAX_RELATIVE_OFFSET

    def append(self, offset: int, position: int) -> None:
        """Rows that do not rise are our own mistake; Kafka refuses them too."""
        last = self._last or self.last
        assert offset > last[0] or not self._count, f"{self.path}: offset {offset} does not rise"
        self._append(offset - self.base_offset, position)
        self._last = (offset, position)

    def extend(self, rows: Sequence[tuple[int, int]]) -> None:
        """Many rows at once, as far as there is room."""
        self._extend([(offset - self.base_offset, position) for offset, position in rows])

    def __getitem__(self, number: int) -> tuple[int, int]:
        relative, position = self.row.unpack_from(self._opened(), number * self.row.size)
        return self.base_offset + relative, position

    @property
    def last(self) -> tuple[int, int]:
        if self._last is None:
            self._last = self[len(self) - 1] if len(self) else (self.base_offset, 0)
        return self._last

    def position_for(self, offset: int) -> int:
        """A position from which on the batch with the offset can be found."""
        return next(self.positions_for(offset))

    def positions_for(self, offset: int) -> Iterator[int]:
        """That position, and those of the rows before it for whoever cannot trust it; the last one is 0."""
        found = bisect_right(range(len(self)), offset, key=lambda number: self[number][0])
        for number in range(found - 1, -1, -1):
            yield self[number][1]
        yield 0

    def offset_from(self, position: int) -> int | None:
        """The offset of the first row that points to the position or behind it."""
        found = bisect_left(range(len(self)), position, key=lambda number: self[number][1])
        return self[found][0] if found < len(self) else None

    def truncate(self, offset: int) -> None:
        """Keep the rows below the offset."""
        self._keep(bisect_left(range(len(self)), offset, key=lambda number: self[number][0]))

    def check(self, log_size: int) -> None:
        """Raise CorruptIndex unless the rows rise and point into a log of that size."""
        previous = (self.base_offset - 1, -1)
        for number in range(len(self)):
            row = self[number]
            if row[0] <= previous[0] or not previous[1] < row[1] < log_size:
                raise CorruptIndex(f"{self.path}: row {number} is offset {row[0]} at {row[1]}, after {previous}")
            previous = row


class TimeIndex(Index):
    """Rows of (timestamp, offset): no batch up to the one that ends with the offset has a later timestamp."""

    row: ClassVar[Struct] = Struct(">qi")
    rows_for_sealing: ClassVar[int] = 1

    NOTHING = -1
    """Kafka's "no timestamp", also of an index without rows."""

    def append_if_later(self, timestamp: int, offset: int) -> None:
        last_timestamp, last_offset = self._last or self.last
        assert not self._count or (offset >= last_offset and timestamp >= last_timestamp), f"{self.path}: does not rise"
        if timestamp > last_timestamp:
            self._append(timestamp, offset - self.base_offset)
            self._last = (timestamp, offset)

    def extend(self, rows: Sequence[tuple[int, int]]) -> None:
        """Many rows at once, as far as there is room; of equal times the first."""
        latest, later = self.last[0], []
        for timestamp, offset in rows:
            if timestamp > latest:
                latest = timestamp
                later.append((timestamp, offset - self.base_offset))
        self._extend(later)

    def __getitem__(self, number: int) -> tuple[int, int]:
        timestamp, relative = self.row.unpack_from(self._opened(), number * self.row.size)
        return timestamp, self.base_offset + relative

    @property
    def last(self) -> tuple[int, int]:
        if self._last is None:
            self._last = self[len(self) - 1] if len(self) else (self.NOTHING, self.base_offset)
        return self._last

    def offset_for(self, timestamp: int) -> int:
        """An offset up to which no batch is later than the timestamp."""
        return next(self.rows_for(timestamp))[1]

    def rows_for(self, timestamp: int) -> Iterator[tuple[int, int]]:
        """The last row that is not later, and those before it for whoever cannot trust it; then that of no row."""
        found = bisect_right(range(len(self)), timestamp, key=lambda number: self[number][0])
        for number in range(found - 1, -1, -1):
            yield self[number]
        yield self.NOTHING, self.base_offset

    def truncate(self, offset: int) -> None:
        """Keep the rows below the offset."""
        self._keep(bisect_left(range(len(self)), offset, key=lambda number: self[number][1]))

    def check(self, first: int = 0) -> None:
        """Raise CorruptIndex unless the rows rise, from that one on."""
        previous = (self.NOTHING - 1, self.base_offset - 1)
        for number in range(max(first, 0), len(self)):
            row = self[number]
            if row[0] <= previous[0] or row[1] < previous[1]:
                raise CorruptIndex(f"{self.path}: row {number} is offset {row[1]} at time {row[0]}, after {previous}")
            previous = row
