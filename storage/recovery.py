"""Reading a segment as if nothing but its batches could be trusted: after a crash, or when an index is gone.

Every batch from the first on is checked with its CRC. What follows the last good one was never acknowledged, or has
been damaged since; it is cut off, and all that is known of the segment is learned from what is left.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.errors import KafkaError, MalformedFrame
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.producer_state import AppendOrigin, ProducerState
from barnabas.storage.segment import Segment

__all__ = ["Recovered", "recover_segment"]


class Recovered(NamedTuple):
    next_offset: int
    removed_bytes: int
    reason: str
    """Why bytes were removed."""


def recover_segment(segment: Segment, epochs: LeaderEpochs, producers: ProducerState) -> Recovered:
    """Make the segment whole again. `producers` have to be those at its beginning, and are those at its end then."""
    segment.forget_indexes()
    size = segment.size
    position, following, reason = _read_all(segment, epochs, producers)
    if position < size:
        segment.file.truncate(position)
        segment.size = position
    segment.seal()
    return Recovered(following, size - position, reason)


def _read_all(segment: Segment, epochs: LeaderEpochs, producers: ProducerState) -> tuple[int, int, str]:
    """Where the good batches end, the offset behind them, and why no more of them are good.

    The view of the file ends with this function, before anybody cuts the file.
    """
    following = segment.base_offset
    found = iterate_batches(segment.file.view(0, segment.size))
    position = 0
    try:
        for batch in found:
            batch.check()
            if batch.base_offset < following or not segment.offset_index.can_hold(batch.last_offset):
                return position, following, f"offset {batch.base_offset} where {following} or a later one was due"
            producers.check(batch, AppendOrigin.REPLICATION)
            segment.note(batch, position)
            if batch.magic >= 2:
                latest = epochs.latest_epoch
                if batch.partition_leader_epoch > (-1 if latest is None else latest):
                    epochs.assign(batch.partition_leader_epoch, batch.base_offset)
            segment.apply(producers, batch)
            following = batch.next_offset
            position = found.position
    except (MalformedFrame, KafkaError) as error:
        return position, following, str(error)
    return position, following, "the last batch is torn" if found.torn else ""
