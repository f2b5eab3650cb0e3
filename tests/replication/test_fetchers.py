"""Fetchers, against brokers that lead, in a time that passes by itself."""

from __future__ import annotations

import pytest
import trio

from barnabas.protocol.errors import ErrorCode
from barnabas.replication.fetchers import fetcher_number
from barnabas.replication.partition import Partition
from barnabas.storage.log_directory import TopicPartition

from .fetching import (
    BROKER_EPOCH,
    NODE,
    SETTINGS,
    FollowingBroker,
    LeadingBroker,
    forgotten,
    keys,
    partition_of,
    run,
    same,
    until,
)
from .leaders import lead
from .partitions_in_memory import append


def test_many_partitions_are_fetched_in_one_session() -> None:
    leader = LeadingBroker()
    led = [leader.lead("orders", number, 0) for number in range(20)] + [leader.lead("clicks", 0, 3)]
    here = [partition_of(*partition.name) for partition in led]
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        for partition, other in zip(here, led, strict=True):
            follower.follow(partition, 2, other.leader_epoch)
        await until(lambda: all(map(same, here, led)))
        before = len(leader.asked)
        leader.append(led[4], b"three")
        await until(lambda: same(here[4], led[4]))
        await until(lambda: len(leader.asked) > before + 1)
        assert follower.fetchers.max_lag == 0

    run(follower, body)
    assert leader.connections == 1
    assert leader.client_ids == {"broker-1-fetcher-0"}
    first = leader.asked[0]
    assert (first.session_epoch, len(keys(first)), leader.versions[0]) == (0, 21, 18)
    assert (first.max_wait_ms, first.min_bytes, first.max_bytes) == (500, 1, 10 << 20)
    state = first.replica_state
    assert state is not None
    assert (state.replica_id, state.replica_epoch) == (NODE, BROKER_EPOCH)
    # Each but the first names what has changed, and nothing else.
    assert [keys(request) for request in leader.asked[-2:]] == [[(4, 3)], []]
    assert not follower.said


def test_a_leader_of_before_3_5_is_told_the_replica_alone() -> None:
    leader = LeadingBroker(fetch_versions=(4, 14))
    led, here = leader.lead("orders", 0, 0), partition_of("orders", 0)
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        follower.follow(here, 2, 0)
        await until(lambda: same(here, led))

    run(follower, body)
    assert (leader.versions[0], leader.asked[0].replica_id, leader.asked[0].replica_state) == (14, NODE, None)


def test_a_leader_that_does_not_know_ids_is_no_leader() -> None:
    leader = LeadingBroker(fetch_versions=(4, 12))
    leader.lead("orders", 0, 0)
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        follower.follow(partition_of("orders", 0), 2, 0)
        await trio.sleep(5)

    run(follower, body)
    assert not leader.asked
    assert follower.said == [
        "warning: replicas of broker 2 cannot be fetched now: broker 2 is too old: it does not know topics by their ids"
    ]


def test_partitions_come_and_go_while_a_request_is_under_way() -> None:
    leader = LeadingBroker()
    led = [leader.lead("orders", number, 0) for number in range(3)]
    here = [partition_of("orders", number) for number in range(3)]
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        follower.follow(here[0], 2, 0)
        follower.follow(here[1], 2, 0)
        await until(lambda: same(here[0], led[0]) and same(here[1], led[1]))
        await until(lambda: len(leader.asked) == 3)
        follower.follow(here[2], 2, 0)
        here[1].follow(-1, 1)
        follower.fetchers.follow(here[1])
        leader.append(led[1], b"not for you")
        await until(lambda: same(here[2], led[2]))
        assert here[1].log.end_offset == 2

    run(follower, body)
    assert (keys(leader.asked[3]), forgotten(leader.asked[3])) == ([(2, 0)], [1])


def test_an_answer_to_what_was_asked_in_an_older_epoch_is_dropped() -> None:
    leader = LeadingBroker()
    led, here = leader.lead("orders", 0, 0), partition_of("orders", 0)
    leader.lead("orders", 1, 0)
    follower = FollowingBroker({2: leader})
    ends: list[int] = []

    async def body() -> None:
        follower.follow(here, 2, 0)
        follower.follow(partition_of("orders", 1), 2, 0)
        await until(lambda: len(leader.asked) == 3)
        leader.append(led, b"of epoch 0")
        follower.follow(here, 2, 1)
        await until(lambda: len(leader.asked) >= 4)
        ends.append(here.log.end_offset)
        lead(led, 1)
        await until(lambda: same(here, led))

    run(follower, body)
    assert ends == [2]


def test_others_get_their_turn_in_the_middle_of_a_large_answer() -> None:
    """And who follows another leader by then takes nothing of the rest of it."""
    leader, another = LeadingBroker(), LeadingBroker()
    led = [leader.lead("orders", number, 0) for number in range(250)]
    here = [partition_of("orders", number) for number in range(250)]
    led[-1] = another.lead("orders", 249, 1)
    leader.lead("orders", 249, 0)
    follower = FollowingBroker({2: leader, 3: another})

    async def body() -> None:
        for partition in here:
            follower.follow(partition, 2, 0)
        while not here[0].log.end_offset:
            await trio.lowlevel.checkpoint()
        assert not here[249].log.end_offset
        follower.follow(here[249], 3, 1)
        await until(lambda: all(map(same, here, led)))

    run(follower, body)
    assert not follower.cut


def test_a_new_leader_is_followed_at_once() -> None:
    old, new = LeadingBroker(), LeadingBroker()
    old.lead("orders", 0, 0)
    led = new.lead("orders", 0, 0, 1)
    here = partition_of("orders", 0)
    follower = FollowingBroker({2: old, 3: new})

    async def body() -> None:
        follower.follow(here, 2, 0)
        await until(lambda: here.log.end_offset == 2)
        follower.follow(here, 3, 1)
        await until(lambda: same(here, led), 0.1)
        # The fetcher that has nothing left ends.
        await until(lambda: len(follower.fetchers) == 1)

    run(follower, body)


def test_whoever_leads_or_is_gone_is_not_fetched() -> None:
    leader = LeadingBroker()
    leader.lead("orders", 0, 0)
    here = partition_of("orders", 0)
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        follower.follow(here, 2, 0)
        await until(lambda: here.log.end_offset == 2)
        lead(here, 1)
        follower.fetchers.leave(here)
        await until(lambda: not len(follower.fetchers))
        follower.fetchers.leave(here)

    run(follower, body)


def test_a_durable_follower_asks_for_more_when_the_disk_has_what_came_before() -> None:
    leader = LeadingBroker()
    led = [leader.lead("orders", number, 0) for number in range(2)]
    waiting: list[Partition] = []
    here = [partition_of("orders", number, needs_sync=waiting.append) for number in range(2)]
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        for partition in here:
            follower.follow(partition, 2, 0)
        await until(lambda: all(partition.log.end_offset == 2 for partition in here))
        await trio.sleep(5)
        assert len(leader.asked) == 1
        for partition in here:
            assert partition in waiting
            work = partition.log.unsynced_records()
            work.sync()
            partition.synced(work)
        await until(lambda: len(leader.asked) == 2, 0.1)

    run(follower, body)
    assert sorted(keys(leader.asked[1])) == [(0, 2), (1, 2)]
    assert all(map(same, here, led))


def test_what_a_durable_follower_wrote_as_a_leader_has_to_be_safe_too() -> None:
    leader = LeadingBroker()
    leader.lead("orders", 0, 0)
    waiting: list[Partition] = []
    here = partition_of("orders", 0, needs_sync=waiting.append)
    lead(here, 0)
    append(here, b"one", b"two")
    waiting.clear()
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        follower.follow(here, 2, 0)
        await until(lambda: waiting == [here])
        await trio.sleep(1)
        assert not leader.asked
        # Its disk fails, and it is gone from here.
        here.resign(ErrorCode.KAFKA_STORAGE_ERROR)
        follower.fetchers.leave(here)
        await until(lambda: not len(follower.fetchers))

    run(follower, body)
    assert not leader.asked


def test_above_the_rate_those_wait_that_are_throttled_and_not_in_sync() -> None:
    leader = LeadingBroker()
    led = [leader.lead("orders", number, 0) for number in range(3)]
    for _ in range(50):
        append(led[0], b"x" * 10_000)
    here = [partition_of("orders", number) for number in range(3)]
    settings = SETTINGS._replace(partition_max_bytes=10_080)
    follower = FollowingBroker({2: leader}, settings)
    follower.quota.bytes_per_second = 100_000
    follower.quota.throttle("orders", 0, True)
    follower.quota.throttle("orders", 1, True)

    async def body() -> None:
        for partition in here:
            follower.follow(partition, 2, 0)
        await until(lambda: here[0].log.end_offset > 2)
        began = trio.current_time()
        await trio.sleep(1.5)
        # In sync, and so never held back.
        leader.append(led[1], b"three")
        leader.append(led[2], b"three")
        await until(lambda: same(here[1], led[1]) and same(here[2], led[2]), 0.6)
        await until(lambda: same(here[0], led[0]))
        took_s = trio.current_time() - began
        assert 3 < took_s < 7

    run(follower, body)


def test_a_replica_that_is_throttled_and_alone_gets_on() -> None:
    leader = LeadingBroker()
    led = leader.lead("orders", 0, 0)
    for _ in range(30):
        append(led, b"x" * 10_000)
    here = partition_of("orders", 0)
    follower = FollowingBroker({2: leader}, SETTINGS._replace(partition_max_bytes=10_080))
    follower.quota.bytes_per_second = 100_000
    follower.quota.throttle("orders", 0, True)

    async def body() -> None:
        follower.follow(here, 2, 0)
        began = trio.current_time()
        await until(lambda: same(here, led))
        assert 2 < trio.current_time() - began < 5

    run(follower, body)


def test_partitions_are_spread_over_fetchers_as_kafka_does_and_move_when_there_are_more() -> None:
    leader = LeadingBroker()
    led = [leader.lead("orders", number, 0) for number in range(8)]
    here = [partition_of("orders", number) for number in range(8)]
    follower = FollowingBroker({2: leader})
    follower.per_source = 1

    async def body() -> None:
        for partition in here:
            follower.follow(partition, 2, 0)
        await until(lambda: all(map(same, here, led)))
        follower.per_source = 3
        follower.fetchers.configure()
        assert len(follower.fetchers) == 3
        for partition in led:
            append(partition, b"three")
        leader.tell()
        await until(lambda: all(map(same, here, led)))
        assert leader.client_ids == {f"broker-1-fetcher-{number}" for number in range(3)}
        follower.per_source = 1
        follower.fetchers.configure()
        await until(lambda: len(follower.fetchers) == 1)

    run(follower, body)


@pytest.mark.parametrize(
    ("topic", "number", "fetchers", "expected"),
    # As Kafka's Utils.abs(31 * topic.hashCode() + partition) % n says.
    [("orders", 0, 1, 0), ("a", 0, 4, 3), ("a", 1, 4, 0), ("orders", 5, 7, 1), ("", 3, 4, 3)],
)
def test_the_number_of_a_fetcher(topic: str, number: int, fetchers: int, expected: int) -> None:
    assert fetcher_number(TopicPartition(topic, number), fetchers) == expected


def test_nothing_is_followed_when_it_has_stopped() -> None:
    leader = LeadingBroker()
    leader.lead("orders", 0, 0)
    here = partition_of("orders", 0)
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        await follower.fetchers.stop()
        follower.follow(here, 2, 0)
        await trio.sleep(1)

    run(follower, body)
    assert (leader.connections, len(follower.fetchers)) == (0, 0)
