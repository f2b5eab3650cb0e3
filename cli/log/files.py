"""The files of a partition as somebody reads them who must not change them, and who cannot rely on their staying.

A file that is open can be read to its end, whatever becomes of its name. One that grows is read as far as it was long
when it was opened, so that a torn end is one that the file had.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Self

from barnabas.protocol.batches import LOG_OVERHEAD_BYTES, Batch, batch_at
from barnabas.protocol.errors import MalformedFrame

__all__ = ["INDEX_ROW", "TIME_ROW", "LogFile", "base_offset_of", "partition_files", "read_rows", "segment_bases"]

INDEX_ROW = Struct(">ii")
TIME_ROW = Struct(">qi")

_WINDOW_BYTES = 1 << 18
"""Stays in the processor's cache, and is given back to the program without the system."""
_OFFSET = re.compile(r"(\d{20})\.")


class LogFile:
    """Batches, one after the other. `position` is behind the last one that was given out."""

    def __init__(self, path: Path, *, max_bytes: int | None = None) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        size = os.fstat(self._descriptor).st_size
        self.size = size if max_bytes is None else min(size, max_bytes)
        self.position = 0

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def look_again(self) -> bool:
        """Whether the file has grown meanwhile; then there may be more batches."""
        before, self.size = self.size, os.fstat(self._descriptor).st_size
        return self.size > before

    def read(self, position: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, position)

    def read_into(self, position: int, buffer: memoryview) -> int:
        return os.preadv(self._descriptor, [buffer], position)

    def batches(self, position: int = 0) -> Iterator[tuple[int, Batch]]:
        """Whole batches with their positions; MalformedFrame where the bytes can be none. Behind the last one may be a
        rest that is a part of one."""
        self.position = position
        length = _WINDOW_BYTES
        while position < self.size:
            window = memoryview(self.read(position, min(length, self.size - position)))
            at = 0
            while (batch := batch_at(window, at)) is not None:
                found, at = position + at, batch.end
                self.position = found + batch.size
                yield found, batch
            if not window or position + len(window) >= self.size:
                return
            # The next begins at the end of this window, or is larger than it.
            length = _WINDOW_BYTES if at else _length_of(window)
            if length > self.size - position:
                return
            position += at


def _length_of(window: memoryview) -> int:
    return LOG_OVERHEAD_BYTES + int.from_bytes(window[8:12], "big", signed=True)


def read_rows(path: Path, row: Struct) -> list[tuple[int, ...]]:
    """All rows of an index, those that are allocated and not written (zeros) among them, as Kafka's tools count."""
    data = path.read_bytes()
    return list(row.iter_unpack(data[: len(data) - len(data) % row.size]))


def base_offset_of(path: Path) -> int:
    """From the file's name; ValueError where that tells none."""
    digits = path.name.split(".")[0]
    if not digits.isdecimal():
        raise ValueError(f"{path.name} does not begin with an offset")
    return int(digits)


def segment_bases(directory: Path) -> list[int]:
    """The offsets at which the segments of a partition's directory begin."""
    return sorted(int(name[:20]) for name in os.listdir(directory) if re.fullmatch(r"\d{20}\.log", name))  # noqa: PTH208


def partition_files(directory: Path, *, first: int | None = None, end: int | None = None) -> list[Path]:
    """The segments that hold offsets from `first` up to before `end`."""
    bases = segment_bases(directory)
    start = 0 if first is None else max(bisect_left(bases, first + 1) - 1, 0)
    return [directory / f"{base:020d}.log" for base in bases[start:] if end is None or base < end]


def position_of(log: Path, offset: int) -> int:
    """From where on a batch with that offset can be found, by the offset index beside the log if it is there."""
    index = log.with_suffix(".index")
    base = base_offset_of(log)
    try:
        rows = read_rows(index, INDEX_ROW)
    except OSError:
        return 0
    found = 0
    for relative, position in rows:
        if (relative == 0 and position == 0) or base + relative > offset:
            break
        found = position
    return found


def check_batch(batch: Batch) -> bool:
    """Whether its checksum is right."""
    try:
        return batch.crc_matches()
    except MalformedFrame:
        return False
