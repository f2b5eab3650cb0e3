"""Whether a reader's log is the beginning of ours: it says where it ends, and of which epoch its last record is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from barnabas.coordination.cluster.snapshot_file import BOOTSTRAP_SNAPSHOT, SnapshotId

__all__ = ["Diverging", "locate"]


class Diverging(NamedTuple):
    """The reader has to cut off what lies beyond."""

    epoch: int
    end_offset: int


def locate(
    offset: int,
    epoch: int,
    *,
    start_offset: int,
    snapshots: Sequence[SnapshotId],
    end_of_epoch: Callable[[int], tuple[int, int]],
) -> Diverging | SnapshotId | None:
    """None: it can go on reading there. A snapshot: what comes next for it is in our log no more.

    `snapshots` are in order; `end_of_epoch` tells the largest epoch of our log up to one, and where that ended."""
    if offset == 0 and snapshots and snapshots[-1] != BOOTSTRAP_SNAPSHOT:
        # Who has nothing is served faster so, even if the log has everything.
        return snapshots[-1]
    if offset == 0 and start_offset == 0:
        return None
    if snapshots:
        earliest = snapshots[0]
        too_early = offset < start_offset or epoch < earliest.epoch
        if too_early or (offset == start_offset and epoch != earliest.epoch):
            return snapshots[-1]
    found, end_offset = end_of_epoch(epoch)
    if snapshots and (found, end_offset) == (epoch, snapshots[0].end_offset):
        # The log knows this epoch by its end only; the snapshot in front of it knows better.
        found = snapshots[0].epoch
    if found != epoch or end_offset < offset:
        return Diverging(found, end_offset)
    return None
