"""A leader's answers to a follower's Fetch, from a partition's log, as Apache Kafka's leader gives them."""

from __future__ import annotations

from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import EpochEndOffset, FetchPartition, PartitionData
from barnabas.replication.following import Following
from barnabas.replication.partition import Partition

from .partitions_in_memory import NOW, leadership

ENOUGH = 1 << 20


def answer_of(leader: Partition, asked: FetchPartition, high_watermark: int | None = None) -> PartitionData:
    log = leader.log
    data = PartitionData(
        partition_index=asked.partition,
        high_watermark=leader.high_watermark.offset if high_watermark is None else high_watermark,
        log_start_offset=log.start_offset,
        records=b"",
    )
    if asked.current_leader_epoch != leader.leader_epoch:
        older = asked.current_leader_epoch < leader.leader_epoch
        data.error_code = ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH
        return data
    if asked.last_fetched_epoch >= 0:
        epoch, end_offset = log.epochs.end_offset_for(asked.last_fetched_epoch, log.end_offset)
        if end_offset < 0 or asked.fetch_offset < log.start_offset:
            data.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
            return data
        if epoch < asked.last_fetched_epoch or end_offset < asked.fetch_offset:
            data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
            return data
    if not log.start_offset <= asked.fetch_offset <= log.end_offset:
        data.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        return data
    data.records = log.read(asked.fetch_offset, asked.partition_max_bytes).read()
    return data


def fetch(
    following: Following, leader: Partition, *, max_bytes: int = ENOUGH, high_watermark: int | None = None
) -> PartitionData:
    """One turn, as a fetcher takes it."""
    partition = following.partition
    data = answer_of(leader, following.position(max_bytes), high_watermark)
    if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
        if leader.log.end_offset < partition.log.end_offset:
            partition.cut_to(leader.log.end_offset, NOW)
        elif leader.log.start_offset > partition.log.end_offset:
            partition.begin_at(leader.log.start_offset, NOW)
    elif data.diverging_epoch is not None:
        following.cut(following.cut_for(data.diverging_epoch), NOW)
    elif not data.error_code:
        following.take(data, NOW)
    return data


def follow(partition: Partition, leader: int, leader_epoch: int) -> Following:
    partition.follow(leader, leader_epoch)
    following = Following(partition)
    if following.first_cut is not None:
        following.cut(following.first_cut, NOW)
    return following


def lead(partition: Partition, leader_epoch: int) -> None:
    partition.lead(leadership(leader_epoch=leader_epoch))


def contents(partition: Partition) -> bytes:
    """All batches from the log's start on, byte for byte."""
    log = partition.log
    data = b""
    offset = log.start_offset
    while some := log.read(offset, ENOUGH).read():
        data += some
        *_, last = iterate_batches(some)
        offset = last.next_offset
    return data
