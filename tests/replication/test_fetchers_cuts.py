"""Fetchers whose logs went another way than their leaders', or end where these begin no more."""

from __future__ import annotations

import pytest
import trio

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from barnabas.protocol.schema import Message

from .fetching import (
    NODE,
    FollowingBroker,
    LeadingBroker,
    partition_of,
    run,
    same,
    until,
)
from .leaders import contents, lead
from .partitions_in_memory import NOW, append


def test_a_log_that_went_another_way_is_cut_and_goes_on() -> None:
    leader = LeadingBroker()
    led = leader.lead("orders", 0, 0, 3)
    here = partition_of("orders", 0)
    for epoch in (0, 1, 2):
        lead(here, epoch)
        append(here, b"one", b"%d" % epoch if epoch else b"two")
    here.high_watermark.begin(2)
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        follower.follow(here, 2, 3)
        await until(lambda: same(here, led), 0.1)

    run(follower, body)
    assert follower.cut == [["orders-0"]]
    assert follower.said == ["orders-0 is cut from offset 6 to 2, for broker 2 has other records"]


def test_what_counted_here_and_is_not_there_is_told_of() -> None:
    leader = LeadingBroker()
    led = leader.lead("orders", 0, 5)
    here = partition_of("orders", 0)
    for epoch in (0, 1):
        lead(here, epoch)
        append(here, b"of %d" % epoch, b"more")
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        follower.follow(here, 2, 5)
        await until(lambda: same(here, led), 0.1)

    run(follower, body)
    assert follower.said == [
        "warning: orders-0 is cut from offset 4 to 0, for broker 2 has other records: its high watermark was 4"
    ]


def test_a_cut_that_is_not_safe_is_made_again_before_anything_is_appended() -> None:
    leader = LeadingBroker()
    led = leader.lead("orders", 0, 0, 3)
    here = partition_of("orders", 0)
    for epoch in (0, 1):
        lead(here, epoch)
        append(here, b"one", b"two")
    here.high_watermark.begin(2)
    follower = FollowingBroker({2: leader})
    follower.cannot_cut = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no room for a checkpoint")

    async def body() -> None:
        follower.follow(here, 2, 3)
        await trio.sleep(2.5)
        assert here.log.end_offset == 2
        follower.cannot_cut = None
        await until(lambda: same(here, led), 1.1)

    run(follower, body)
    assert follower.cut == [["orders-0"]] * 4


def test_a_log_without_epochs_is_cut_before_it_is_fetched() -> None:
    leader = LeadingBroker()
    led = leader.lead("orders", 0, 0)
    here = partition_of("orders", 0)
    old = partition_of("orders", 0)
    lead(old, 0)
    append(old, b"none", b"of")
    append(old, b"them")
    data = bytearray(contents(old))
    for start in (0, len(data) // 2):
        size = 12 + int.from_bytes(data[8:12], "big")
        data[(0 if start == 0 else size) + 12 : (0 if start == 0 else size) + 16] = b"\xff" * 4
    here.log.append_as_follower(bytes(data), NOW)
    assert here.log.epochs.latest_epoch is None
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        follower.follow(here, 2, 0)
        await until(lambda: same(here, led), 0.1)

    run(follower, body)
    assert follower.cut == [["orders-0"]]


def test_a_follower_that_was_away_for_too_long_begins_anew() -> None:
    leader = LeadingBroker()
    led = [leader.lead("orders", number, 0, 1, 2) for number in range(2)]
    for partition in led:
        partition.delete_records(5)
    here = [partition_of("orders", number) for number in range(2)]
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        for partition in here:
            follower.follow(partition, 2, 2)
        await until(lambda: all(map(same, here, led)), 0.1)

    run(follower, body)
    assert [partition.log.start_offset for partition in here] == [5, 5]
    assert follower.cut == [["orders-0", "orders-1"]]
    # Both are asked for together, the end and the start.
    assert [len(request.topics[0].partitions) for request in leader.asked_offsets] == [2, 2]
    assert leader.asked_offsets[0].replica_id == NODE
    assert leader.asked_offsets[0].topics[0].partitions[0].current_leader_epoch == 2


def test_a_leader_that_ends_earlier_without_a_word_of_epochs_is_believed() -> None:
    leader = LeadingBroker()
    led = leader.lead("orders", 0, 0)
    here = partition_of("orders", 0)
    lead(here, 0)
    append(here, b"one", b"two")
    append(here, b"three")
    here.high_watermark.begin(2)
    follower = FollowingBroker({2: leader})
    leader.codes[led.name] = ErrorCode.OFFSET_OUT_OF_RANGE

    async def body() -> None:
        follower.follow(here, 2, 0)
        await until(lambda: here.log.end_offset == 2, 0.1)
        # Then it ends where the leader ends, and there is nothing to be done but to ask again later.
        before = len(leader.asked)
        await trio.sleep(3.5)
        assert len(leader.asked) < before + 10
        leader.codes.clear()
        leader.append(led, b"other")
        await until(lambda: same(here, led))

    run(follower, body)


@pytest.mark.parametrize("code", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_a_leader_may_refuse_to_say_where_it_begins(code: ErrorCode) -> None:
    leader = LeadingBroker()
    led = leader.lead("orders", 0, 0, 1)
    led.delete_records(3)
    here = partition_of("orders", 0)
    follower = FollowingBroker({2: leader})

    def out_of_range(request: Message) -> Message:
        assert isinstance(request, FetchRequest)
        leader.codes[led.name] = code
        refused = PartitionData(partition_index=0, error_code=ErrorCode.OFFSET_OUT_OF_RANGE, records=b"")
        return FetchResponse(responses=[FetchableTopicResponse(topic_id=led.topic_id, partitions=[refused])])

    async def body() -> None:
        leader.script.append(out_of_range)
        follower.follow(here, 2, 1)
        await until(lambda: len(leader.asked_offsets) == 1)
        await trio.sleep(0.1)
        assert bool(follower.fetchers.failed) is (code == ErrorCode.FENCED_LEADER_EPOCH)
        leader.codes.clear()
        if follower.fetchers.failed:
            follower.follow(here, 2, 2)
            lead(led, 2)
        await until(lambda: same(here, led))

    run(follower, body)
