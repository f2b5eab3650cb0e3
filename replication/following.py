"""One partition as a follower, in one epoch of its leader: from where it fetches, and what it makes of an answer.

It appends what the leader has behind the end of its log. Where the leader says that the two logs parted ways before
that, it drops what it has beyond and asks again, epoch by epoch, until the leader agrees (KIP-101, KIP-279, KIP-595).
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.coordination.fetching.following_session import Key
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import EpochEndOffset, FetchPartition, PartitionData
from barnabas.replication.partition import Partition
from barnabas.storage.leader_epochs import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET, LeaderEpochs

__all__ = ["Cut", "Following", "common_end"]


class Cut(NamedTuple):
    offset: int
    anew: bool = False
    """Nothing is left, and the log begins there."""
    is_made: bool = False
    """And may come back with a power cut."""


class Following:
    """As long as the partition follows that leader in that epoch. Whoever cuts it makes the cut safe before anything is
    appended (broker/housekeeping/cutting.py)."""

    __slots__ = ("is_fresh", "key", "lag", "leader", "leader_epoch", "partition", "trouble")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.key: Key = partition.topic_id, partition.name.partition
        self.leader = partition.leader
        self.leader_epoch = partition.leader_epoch
        self.lag: int | None = None
        """Behind the leader's high watermark, when it answered last."""
        self.trouble = 0
        """How many answers one after the other were errors."""
        self.is_fresh = True
        """The leader has not been asked: an answer that comes now is one to somebody else's question."""

    def __repr__(self) -> str:
        return f"<Following of {self.partition}>"

    @property
    def is_current(self) -> bool:
        """Whether the metadata has not said anything else meanwhile."""
        partition = self.partition
        epoch = partition.leader_epoch
        return partition.follows and partition.leader == self.leader and epoch == self.leader_epoch

    @property
    def is_in_sync(self) -> bool:
        return self.lag is not None and self.lag <= 0

    @property
    def is_safe(self) -> bool:
        """Whether everything that is here would be after a power cut, if that has been promised."""
        partition = self.partition
        return partition.safe.offset >= partition.log.end_offset

    async def until_safe(self) -> None:
        """KafkaError if it will not be: the disk has failed, or the partition does not follow any more."""
        self.partition.advance()
        await self.partition.safe.reaches(self.partition.log.end_offset)

    @property
    def first_cut(self) -> Cut | None:
        """What has to go before anything is fetched. Of a log without epochs nobody can tell where it parted from the
        leader's, but that it was behind the high watermark."""
        partition, high_watermark = self.partition, self.partition.high_watermark.offset
        has_doubtful = partition.log.end_offset > high_watermark
        return Cut(high_watermark) if partition.log.epochs.latest_epoch is None and has_doubtful else None

    def position(self, max_bytes: int) -> FetchPartition:
        log = self.partition.log
        epoch = log.epochs.latest_epoch
        return FetchPartition(
            partition=self.key[1],
            current_leader_epoch=self.leader_epoch,
            fetch_offset=log.end_offset,
            last_fetched_epoch=UNDEFINED_EPOCH if epoch is None else epoch,
            log_start_offset=log.start_offset,
            partition_max_bytes=max_bytes,
        )

    def take(self, data: PartitionData, now_ms: int) -> int:
        """What the leader answered, which is no error and no divergence; how many bytes of records there were.
        KafkaError if they could not be appended."""
        partition = self.partition
        size = 0 if data.records is None else len(data.records)
        if size:
            assert isinstance(data.records, bytes | bytearray | memoryview)
            partition.append_from_leader(data.records, now_ms)
        partition.learn(data.high_watermark, data.log_start_offset)
        self.lag = max(data.high_watermark - partition.log.end_offset, 0)
        return size

    def cut_for(self, diverging: EpochEndOffset) -> Cut:
        """What the leader has nothing of, as far as it can tell."""
        log = self.partition.log
        if diverging.end_offset == UNDEFINED_EPOCH_OFFSET:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "its leader cannot tell where the logs parted")
        return Cut(common_end(log.epochs, log.end_offset, diverging.epoch, diverging.end_offset))

    def cut(self, cut: Cut, now_ms: int) -> None:
        """KafkaError if the disk fails."""
        if cut.anew:
            self.partition.begin_at(cut.offset, now_ms)
        else:
            self.partition.cut_to(cut.offset, now_ms)


def common_end(epochs: LeaderEpochs, log_end: int, leaders_epoch: int, leaders_end: int) -> int:
    """How far a log may be what its leader has, which says that it has nothing of the follower's last epoch and that
    its latest epoch before ended there.

    Where the follower has not got that epoch either, it goes back to what it has before it, and asks again. Where it
    has not got any, the leader's word is all there is."""
    epoch, end_offset = epochs.end_offset_for(leaders_epoch, log_end)
    if end_offset == UNDEFINED_EPOCH_OFFSET:
        return min(leaders_end, log_end)
    if epoch != leaders_epoch:
        return min(end_offset, log_end)
    return min(end_offset, leaders_end, log_end)
