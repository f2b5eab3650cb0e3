"""`OFFSET.snapshot`: what a partition knew of its producers before OFFSET, so that opening it replays only the rest.

Kafka takes one whenever the log gets a new segment, one after recovery and one at a clean stop. Losing one costs time
only, so that a file which cannot be read is removed and the next older one taken.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from barnabas.protocol.codec import decode_from, encode
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.records.producer_snapshot import ProducerEntry, ProducerSnapshot
from barnabas.storage.disk import Disk, File

__all__ = [
    "CorruptSnapshot",
    "ProducerSnapshots",
    "decode_snapshot",
    "encode_snapshot",
    "snapshot_name",
]

_VERSION = 1
_PREFIX = struct.Struct(">hI")  # the version, and the checksum of all that follows
_NAME = re.compile(r"([0-9]{20})\.snapshot")


class CorruptSnapshot(ValueError):  # noqa: N818 - named for what was found
    """The bytes are no snapshot of producers."""


def snapshot_name(offset: int) -> str:
    return f"{offset:020d}.snapshot"


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    from crc32c import crc32c  # as in Batch.compute_crc

    message = encode(ProducerSnapshot(crc=0, producer_entries=list(entries)), _VERSION)
    body = message[_PREFIX.size - 2 :]
    return _PREFIX.pack(_VERSION, crc32c(body)) + body


def decode_snapshot(data: bytes) -> list[ProducerEntry]:
    """The entries, or CorruptSnapshot. As in Kafka, what the checksum covers may be longer than the entries."""
    from crc32c import crc32c

    if len(data) < _PREFIX.size:
        raise CorruptSnapshot(f"a snapshot of producers ends after {len(data)} bytes")
    version, checksum = _PREFIX.unpack_from(data)
    if version != _VERSION:
        raise CorruptSnapshot(f"a snapshot of producers has the unknown version {version}")
    computed = crc32c(memoryview(data)[_PREFIX.size :])
    if checksum != computed:
        raise CorruptSnapshot(f"a snapshot of producers has crc {checksum:#010x}, its bytes have {computed:#010x}")
    try:
        message, _ = decode_from(ProducerSnapshot, version, data, 2)
    except MalformedFrame as error:
        raise CorruptSnapshot(str(error)) from None
    return message.producer_entries


class ProducerSnapshots:
    """The snapshot files of one partition's directory."""

    def __init__(
        self,
        disk: Disk,
        directory: Path,
        names: Iterable[str] | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        """`names` are those in the directory, for who has asked already. `report` gets a line for each corrupt one."""
        self._disk = disk
        self._report = report
        self.directory = directory
        """Who renames the directory says so here."""
        found = map(_NAME.fullmatch, disk.names(directory) if names is None else names)
        self._offsets = sorted(int(match[1]) for match in found if match)
        self._doubted: set[int] = set()
        """Of files that are there and count as if they were not, until they have been written again."""

    @property
    def offsets(self) -> tuple[int, ...]:
        """Of all snapshots, ascending."""
        return tuple(self._offsets)

    @property
    def oldest(self) -> int | None:
        return self._offsets[0] if self._offsets else None

    @property
    def latest(self) -> int | None:
        return self._offsets[-1] if self._offsets else None

    def path(self, offset: int) -> Path:
        return self.directory / snapshot_name(offset)

    def write(self, offset: int, entries: Iterable[ProducerEntry], *, sync: bool = True) -> File:
        """The file of a new snapshot. A new segment does not wait for the disk: `sync` is false there, and the file
        is synced together with the segment before it. A crash in between leaves a file that is seen to be corrupt."""
        file = self._disk.open(self.path(offset))
        file.truncate(0)
        file.write(0, [encode_snapshot(entries)])
        if sync:
            file.sync()
        self._doubted.discard(offset)
        if offset not in self._offsets:
            insort(self._offsets, offset)
        return file

    def doubt_after(self, offset: int) -> None:
        """Those behind it count no more, unless `confirm` says so; `delete_doubted` the rest."""
        count = bisect_left(self._offsets, offset + 1)
        self._doubted.update(self._offsets[count:])
        del self._offsets[count:]

    def confirm(self, offset: int, entries: Iterable[ProducerEntry]) -> bool:
        """Whether there is one that has come into doubt and says just this."""
        if offset not in self._doubted or self._disk.read_file(self.path(offset)) != encode_snapshot(entries):
            return False
        self._doubted.discard(offset)
        insort(self._offsets, offset)
        return True

    def delete_doubted(self) -> None:
        for offset in self._doubted:
            self._disk.remove(self.path(offset))
        self._doubted.clear()

    def read(self, offset: int) -> list[ProducerEntry]:
        return decode_snapshot(self._disk.read_file(self.path(offset)))

    def load_newest(self, up_to: int | None = None) -> tuple[int, list[ProducerEntry]] | None:
        """The newest snapshot at or below an offset that can be read. Corrupt ones that are met are removed."""
        while (count := len(self._offsets) if up_to is None else bisect_left(self._offsets, up_to + 1)) > 0:
            offset = self._offsets[count - 1]
            try:
                return offset, self.read(offset)
            except CorruptSnapshot as corrupt:
                if self._report is not None:
                    self._report(
                        f"{self.path(offset)}: {corrupt}; it is removed, and an older one or the log tells the same"
                    )
                self.delete(offset)
        return None

    def delete(self, offset: int) -> None:
        """Also when there is none: nobody else reads the files, so that nothing has to wait as Kafka's `.deleted`."""
        if offset in self._offsets:
            self._disk.remove(self.path(offset))
            self._offsets.remove(offset)

    def delete_before(self, offset: int) -> None:
        self._delete_all(self._offsets[: bisect_left(self._offsets, offset)])

    def delete_after(self, offset: int) -> None:
        self._delete_all(self._offsets[bisect_left(self._offsets, offset + 1) :])

    def delete_all(self) -> None:
        self._delete_all(self.offsets)

    def delete_strays(self, segment_base_offsets: Collection[int]) -> None:
        """Keep those that stand where a segment begins, and the newest one behind the last segment's beginning:
        that is what a clean stop has left."""
        strays = [offset for offset in self._offsets if offset not in segment_base_offsets]
        if strays and strays[-1] > max(segment_base_offsets, default=-1):
            strays.pop()
        self._delete_all(strays)

    def _delete_all(self, offsets: Iterable[int]) -> None:
        for offset in offsets:
            self.delete(offset)
