"""`OFFSET.txnindex`: the aborted transactions that ended in one segment, so that a Fetch of a consumer that reads only
what is committed can name them.

An entry is the version 0, the producer's id, the transaction's first offset, the offset of its abort marker, and the
last stable offset right after that; entries ascend by marker. Most segments have no aborted transaction, and no file.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from barnabas.storage.disk import Disk, File

__all__ = ["AbortedTransaction", "AbortedTransactions", "CorruptTransactionIndex", "TransactionIndex"]

_VERSION = 0
_ENTRY = struct.Struct(">hqqqq")
_ENTRIES_AT_ONCE = 1024


class CorruptTransactionIndex(ValueError):  # noqa: N818 - named for what was found
    """The file is no transaction index of its segment; recovering the segment makes a new one."""


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    """Of the abort marker."""
    last_stable_offset: int
    """Right after the marker: no transaction that is aborted later begins before it."""


class AbortedTransactions(NamedTuple):
    found: list[AbortedTransaction]
    complete: bool
    """False when the next segment's index may have more for the same range."""


class TransactionIndex:
    """The index of one segment, read where it lies; nothing but the open file is kept."""

    def __init__(self, disk: Disk, path: Path, start_offset: int) -> None:
        self._disk = disk
        self.path = path
        """Who renames the directory says so here."""
        self._start_offset = start_offset
        self._file: File | None = None
        self._known_missing = False

    def append(self, aborted: AbortedTransaction) -> None:
        file = self._opened()
        if file is None:
            file = self._file = self._disk.open(self.path)
        count = _count(file)
        if count and aborted.last_offset <= (last := _entry(file, count - 1).last_offset):
            raise ValueError(f"{self.path}: an abort at {aborted.last_offset} cannot follow one at {last}")
        # Not at the file's size: after a crash or on a full disk that may lie within an entry.
        file.write(count * _ENTRY.size, [_ENTRY.pack(_VERSION, *aborted)])

    def __iter__(self) -> Iterator[AbortedTransaction]:
        """All of them, read while they are asked for."""
        return self._entries_from(0)

    def collect(self, fetch_offset: int, upper_bound_offset: int) -> AbortedTransactions:
        """The aborted transactions that overlap the offsets from `fetch_offset` up to before `upper_bound_offset`.

        Entries ascend by their last offset, and a last stable offset is at most one more: so those that end before
        the range neither belong to it nor say that the search is over, and the first that counts is found by halving.
        (Kafka's followers may write a greater one, which here only makes the search longer.)
        """
        found = []
        start = self._first_ending_at(min(fetch_offset, upper_bound_offset - 1))
        for aborted in self._entries_from(start):
            if aborted.last_offset >= fetch_offset and aborted.first_offset < upper_bound_offset:
                found.append(aborted)
            if aborted.last_stable_offset >= upper_bound_offset:
                return AbortedTransactions(found, True)
        return AbortedTransactions(found, False)

    def truncate_to(self, offset: int) -> None:
        """Forget the transactions that end at `offset` or later."""
        file = self._opened()
        if file is not None and (kept := self._first_ending_at(offset)) < _count(file):
            file.truncate(kept * _ENTRY.size)

    def reset(self) -> None:
        """Forget all of them. A file that is there stays."""
        if (file := self._opened()) is not None:
            file.truncate(0)

    def is_empty(self) -> bool:
        file = self._opened()
        return file is None or _count(file) == 0

    def check(self) -> None:
        """Raise CorruptTransactionIndex unless every entry may be this segment's."""
        file = self._opened()
        if file is None:
            return
        if rest := file.size() % _ENTRY.size:
            raise CorruptTransactionIndex(f"{self.path} ends with {rest} bytes of an entry")
        before = self._start_offset - 1
        for aborted in self:
            if aborted.last_offset <= before:
                raise CorruptTransactionIndex(f"{self.path}: {aborted} where the last offset must exceed {before}")
            before = aborted.last_offset

    def sync(self) -> None:
        if self._file is not None:
            self._file.sync()

    def rename(self, path: Path) -> None:
        """Move the file, if there is one, within the life of its segment: `.cleaned`, `.swap`, `.deleted`."""
        if self._opened() is not None:
            self._disk.rename(self.path, path)
        self.path = path

    def close(self) -> None:
        """Let the file go; it is opened again when it is needed."""
        self._file = None
        self._known_missing = False

    def delete(self) -> None:
        self.close()
        self._disk.remove(self.path)

    def _opened(self) -> File | None:
        """The file, unless there is none. Only the first call asks the disk."""
        if self._file is None and not self._known_missing:
            if self._disk.exists(self.path):
                with suppress(FileNotFoundError):
                    self._file = self._disk.open(self.path, create=False)
            self._known_missing = self._file is None
        return self._file

    def _entries_from(self, number: int) -> Iterator[AbortedTransaction]:
        file = self._opened()
        if file is None:
            return
        count = _count(file)
        while number < count:
            size = min(count - number, _ENTRIES_AT_ONCE) * _ENTRY.size
            data = file.read(number * _ENTRY.size, size)
            number += _ENTRIES_AT_ONCE
            for version, *fields in _ENTRY.iter_unpack(data):
                if version != _VERSION:
                    raise CorruptTransactionIndex(f"{self.path} has an entry of the unknown version {version}")
                yield AbortedTransaction(*fields)

    def _first_ending_at(self, offset: int) -> int:
        """The number of the first entry whose transaction ends at `offset` or later."""
        file = self._opened()
        if file is None:
            return 0
        return bisect_left(range(_count(file)), offset, key=lambda number: _entry(file, number).last_offset)


def _count(file: File) -> int:
    return file.size() // _ENTRY.size


def _entry(file: File, number: int) -> AbortedTransaction:
    _version, *fields = _ENTRY.unpack(file.read(number * _ENTRY.size, _ENTRY.size))
    return AbortedTransaction(*fields)
