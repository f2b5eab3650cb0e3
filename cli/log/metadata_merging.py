"""The metadata log as the directories of several nodes have it: one log, read in the order of its offsets.

Each node may begin elsewhere, behind a snapshot, and end elsewhere. Where two have the same offset, one is held against
the other; if they differ, the later epoch counts, for that is what the quorum went on with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from barnabas.cli.log.files import LogFile, partition_files
from barnabas.coordination.cluster.snapshot_file import Snapshot, SnapshotId, decode_snapshot
from barnabas.protocol.batches import Batch
from barnabas.protocol.errors import MalformedFrame

__all__ = ["Compared", "Difference", "Missing", "NodeLog", "Restored", "Unreadable", "merge"]


class Restored(NamedTuple):
    """The log before this is nowhere, but what it came to is known."""

    node: str
    id: SnapshotId
    snapshot: Snapshot


class Compared(NamedTuple):
    """A snapshot of what has just been read: it should say the same."""

    node: str
    id: SnapshotId
    snapshot: Snapshot


class Difference(NamedTuple):
    """From this offset on, until they agree again."""

    offset: int
    shown: str
    shown_batch: Batch
    other: str
    other_batch: Batch


class Missing(NamedTuple):
    """Offsets that nobody has, before others that somebody has."""

    first: int
    end: int


class Unreadable(NamedTuple):
    node: str
    offset: int
    """Up to here it could be read."""
    why: str


Step = Batch | Restored | Compared | Difference | Missing | Unreadable


class NodeLog:
    def __init__(self, name: str, directory: Path) -> None:
        """The directory is the metadata partition's own."""
        self.name = name
        self.directory = directory
        self.snapshots = sorted(filter(None, (SnapshotId.parse(path.name) for path in directory.iterdir())))
        self.first_offset: int | None = None
        self.next_offset = 0
        self.why: str | None = None
        """It could not be read any further."""
        self._batches = self._read()
        self.current = next(self._batches, None)
        if self.current is not None:
            self.first_offset = self.current.base_offset

    def _read(self) -> Iterator[Batch]:
        """A torn end, of a node that writes there now, is where it ends. Old segments may go away meanwhile."""
        for path in partition_files(self.directory):
            try:
                with LogFile(path) as log:
                    for _, batch in log.batches():
                        batch.check()
                        yield batch
                        self.next_offset = batch.next_offset
            except FileNotFoundError:
                continue
            except MalformedFrame as error:
                self.why = f"{path}: {error}"
                return

    def go_on_at(self, offset: int) -> None:
        while self.current is not None and self.current.last_offset < offset:
            self.current = next(self._batches, None)

    def skip(self) -> None:
        self.current = next(self._batches, None)

    def read_snapshot(self, snapshot: SnapshotId) -> Snapshot | None:
        """None where it is gone or damaged: barnabas log verify tells of that."""
        try:
            return decode_snapshot((self.directory / snapshot.file_name).read_bytes())
        except (FileNotFoundError, MalformedFrame):
            return None


def merge(logs: Sequence[NodeLog]) -> Iterator[Step]:
    next_offset = 0
    differing: set[str] = set()
    unreadable: set[str] = set()
    while True:
        for log in logs:
            log.go_on_at(next_offset)
            if log.why is not None and log.current is None and log.name not in unreadable:
                unreadable.add(log.name)
                yield Unreadable(log.name, log.next_offset, log.why)
        here = [log for log in logs if log.current is not None and log.current.base_offset <= next_offset]
        if here:
            best = _best(here, next_offset)
            shown = best.current
            assert shown is not None
            yield from _differences(best, here, differing)
            yield shown
            next_offset = shown.next_offset
            yield from _snapshots_at(logs, next_offset)
            continue
        following = min((log.current.base_offset for log in logs if log.current is not None), default=None)
        if (restored := _restored(logs, next_offset, following)) is not None:
            yield restored
            next_offset = restored.id.end_offset
        elif following is None:
            return
        else:
            yield Missing(next_offset, following)
            next_offset = following


def _best(here: Sequence[NodeLog], offset: int) -> NodeLog:
    """What begins there, of the latest epoch; of several the one that most have."""
    same = [_identity(log) for log in here]

    def rank(log: NodeLog) -> tuple[bool, int, int]:
        assert log.current is not None
        begins = log.current.base_offset == offset
        return begins, log.current.partition_leader_epoch, same.count(_identity(log))

    return max(here, key=rank)


def _identity(log: NodeLog) -> tuple[int, ...]:
    batch = log.current
    assert batch is not None
    return batch.base_offset, batch.last_offset, batch.partition_leader_epoch, batch.crc


def _differences(best: NodeLog, here: Sequence[NodeLog], differing: set[str]) -> Iterator[Difference]:
    for log in here:
        if _identity(log) == _identity(best):
            differing.discard(log.name)
            continue
        if log.name not in differing:
            differing.add(log.name)
            assert best.current is not None and log.current is not None
            yield Difference(best.current.base_offset, best.name, best.current, log.name, log.current)


def _snapshots_at(logs: Sequence[NodeLog], offset: int) -> Iterator[Compared]:
    for log in logs:
        for each in log.snapshots:
            if each.end_offset == offset and (snapshot := log.read_snapshot(each)) is not None:
                yield Compared(log.name, each, snapshot)


def _restored(logs: Sequence[NodeLog], next_offset: int, following: int | None) -> Restored | None:
    """The first one behind which the log goes on; if it does not, the last one."""
    found = sorted((each, log.name, log) for log in logs for each in log.snapshots if each.end_offset > next_offset)
    if following is None:
        found.reverse()
    else:
        found = [each for each in found if each[0].end_offset >= following]
    for snapshot_id, name, log in found:
        if (snapshot := log.read_snapshot(snapshot_id)) is not None:
            return Restored(name, snapshot_id, snapshot)
    return None
