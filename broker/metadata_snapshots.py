"""The snapshots beside the log of the metadata: which there are, which can be read, and how one is written.

A snapshot counts when it has its name: until then it is a `.part`, which a start removes, as Kafka does. One that
cannot be read is kept under another name, and the one before it has to do, with all of the log behind that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from barnabas.coordination.cluster.snapshot_file import Snapshot, SnapshotId, decode_snapshot
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import read_records
from barnabas.protocol.records.control import SnapshotHeaderRecord
from barnabas.storage.disk import Disk, File

__all__ = ["MetadataSnapshots"]

_PART = ".checkpoint.part"
_DELETED = ".checkpoint.deleted"
_WORTHLESS = (_PART, _DELETED, ".checkpoint.tmp")
_UNREADABLE = ".unreadable"
_HEAD_BYTES = 4096
"""The header of a snapshot is well within."""


class MetadataSnapshots:
    def __init__(self, disk: Disk, directory: Path, report: Callable[[str], None]) -> None:
        self._disk = disk
        self.directory = directory
        self._report = report
        self._unreadable: dict[Path, MalformedFrame] = {}
        for name in disk.names(directory):
            if name.endswith(_WORTHLESS):
                disk.remove(directory / name)
        found = map(SnapshotId.parse, disk.names(directory))
        self.ids = sorted(one for one in found if one is not None)

    def read_latest(self) -> tuple[SnapshotId, Snapshot] | None:
        """The newest that can be read."""
        while self.ids:
            latest = self.ids[-1]
            path = self.path(latest)
            try:
                return latest, decode_snapshot(self._disk.read_file(path))
            except MalformedFrame as error:
                self._unreadable[path] = error
                self.ids.pop()
        return None

    def put_unreadable_aside(self) -> None:
        """Once it is known that one before has to do, and can."""
        for path, error in self._unreadable.items():
            aside = path.with_name(path.name + _UNREADABLE)
            self._report(f"{path} cannot be read ({error}): it is called {aside.name} now, and the one before counts")
            self._disk.rename(path, aside)
            self._disk.sync_directory(self.directory)
        self._unreadable.clear()

    def path(self, snapshot_id: SnapshotId) -> Path:
        return self.directory / snapshot_id.file_name

    def open(self, snapshot_id: SnapshotId) -> File:
        """To be read as it is; who has it open keeps it, also when it is deleted meanwhile."""
        return self._disk.open(self.path(snapshot_id), create=False)

    def size(self, snapshot_id: SnapshotId) -> int:
        return self._disk.size(self.path(snapshot_id))

    def timestamp_ms(self, snapshot_id: SnapshotId) -> int:
        """Of the last record of the log that it contains."""
        from barnabas.protocol.codec import decode

        head = self._disk.open(self.path(snapshot_id), create=False).read(0, _HEAD_BYTES)
        batch = next(iterate_batches(head))
        record = next(iter(read_records(batch)))
        return decode(SnapshotHeaderRecord, 0, record.value or b"").last_contained_log_timestamp

    def write(self, snapshot_id: SnapshotId, data: bytes) -> None:
        """In any thread; whoever owns this calls `add` then."""
        path = self.path(snapshot_id)
        part = path.with_name(path.name.removesuffix(".checkpoint") + "-barnabas" + _PART)
        self._disk.remove(part)
        file = self._disk.open(part)
        file.write(0, [data])
        file.sync()
        self._disk.rename(part, path)
        self._disk.sync_directory(self.directory)

    def add(self, snapshot_id: SnapshotId) -> None:
        self.ids = sorted({*self.ids, snapshot_id})

    def forget_before(self, snapshot_id: SnapshotId) -> list[Path]:
        """Files that somebody with a thread has to remove; a start would, too."""
        forgotten = [one for one in self.ids if one < snapshot_id]
        self.ids = self.ids[len(forgotten) :]
        doomed = []
        for one in forgotten:
            path = self.path(one)
            doomed.append(path.with_name(path.name.removesuffix(".checkpoint") + _DELETED))
            self._disk.rename(path, doomed[-1])
        return doomed
