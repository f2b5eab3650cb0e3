"""A replica that leads, follows, leads again: its watermarks, and those who wait for them."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.replication.watermark import Watermark

from .partitions_in_memory import NOW, append, batch_of, leadership, new_partition


async def _told(watermark: Watermark, offset: int, told: list[ErrorCode | int]) -> None:
    try:
        await watermark.reaches(offset)
        told.append(offset)
    except KafkaError as error:
        told.append(error.code)


def test_a_follower_keeps_its_high_watermark_however_long_its_log_is() -> None:
    partition = new_partition()
    partition.follow(2, 0)
    leading = batch_of(b"one", b"two")
    leading.partition_leader_epoch = 0
    partition.log.append_as_follower(leading.buffer, NOW)
    partition.follow(3, 1)
    assert (partition.leader, partition.leader_epoch, partition.leads) == (3, 1, False)
    assert partition.log_end.offset == 2
    assert partition.high_watermark.offset == 0


def test_a_follower_is_asked_for_nothing_that_only_a_leader_does() -> None:
    partition = new_partition()
    partition.lead(leadership())
    append(partition, b"one")
    partition.follow(2, 1)
    with pytest.raises(KafkaError) as refused:
        append(partition, b"two")
    assert refused.value.code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.log_end.offset == 1


@pytest.mark.trio
async def test_whoever_waits_for_a_leader_is_told_that_it_follows_now() -> None:
    partition, told = new_partition(), list[ErrorCode | int]()
    partition.lead(leadership())
    append(partition, b"one")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_told, partition.high_watermark, 2, told)
        await trio.testing.wait_all_tasks_blocked()
        partition.follow(2, 1)
    assert told == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


@pytest.mark.trio
async def test_a_follower_that_was_cut_leads_from_where_it_ends() -> None:
    partition = new_partition()
    partition.lead(leadership())
    append(partition, b"one", b"two", b"three")
    assert partition.high_watermark.offset == 3
    partition.follow(2, 1)
    partition.log.truncate_to(0, NOW)
    partition.lead(leadership(leader_epoch=2))
    assert partition.log_end.offset == partition.high_watermark.offset == partition.last_stable.offset == 0
    with trio.fail_after(1):
        await partition.high_watermark.reaches(append(partition, b"another"))


@pytest.mark.trio
async def test_who_watches_a_follower_looks_again_when_another_leads() -> None:
    partition, seen = new_partition(), trio.Event()
    partition.follow(2, 0)
    partition.high_watermark.watch(seen)
    partition.follow(3, 1)
    assert seen.is_set()


@pytest.mark.trio
async def test_a_replica_that_is_gone_keeps_nobody_waiting() -> None:
    partition, seen = new_partition(), trio.Event()
    partition.follow(2, 0)
    partition.high_watermark.watch(seen)
    partition.resign(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert seen.is_set()
    with pytest.raises(KafkaError) as ended:
        await partition.log_end.reaches(1)
    assert ended.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
