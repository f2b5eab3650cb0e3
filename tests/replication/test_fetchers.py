"""Fetchers, against brokers that lead, in a time that passes by itself."""

from __future__ import annotations

import itertools

import pytest
import trio

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from barnabas.protocol.schema import Message
from barnabas.replication.fetchers import fetcher_number
from barnabas.replication.partition import Partition
from barnabas.storage.log_directory import TopicPartition

from .fetching import BROKER_EPOCH, NODE, SETTINGS, FollowingBroker, LeadingBroker, partition_of, run, until
from .leaders import contents, lead
from .partitions_in_memory import NOW, append


def same(follower: Partition, leader: Partition) -> bool:
    return contents(follower) == contents(leader) and follower.high_watermark.offset == leader.high_watermark.offset


def keys(request: FetchRequest) -> list[tuple[int, int]]:
    """Numbers and offsets."""
    return [(each.partition, each.fetch_offset) for topic in request.topics for each in topic.partitions]


def forgotten(request: FetchRequest) -> list[int]:
    return [number for topic in request.forgotten_topics_data for number in topic.partitions]


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


def test_nobody_waits_for_a_leader_that_hangs_and_whom_nobody_follows() -> None:
    leader = LeadingBroker()
    led, here = leader.lead("orders", 0, 0), partition_of("orders", 0)
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        follower.follow(here, 2, 0)
        await until(lambda: same(here, led))
        leader.hangs = True
        leader.tell()
        await trio.sleep(1)
        assert leader.connections == 1
        # It leads in a new epoch, when it has come back.
        here.follow(-1, 1)
        follower.fetchers.follow(here)
        await until(lambda: not len(follower.fetchers), 0.1)
        leader.hangs = False
        lead(led, 2)
        append(led, b"three")
        follower.follow(here, 2, 2)
        await until(lambda: same(here, led), 0.1)

    run(follower, body)
    assert leader.connections == 2
    assert not follower.said


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


def test_a_leader_that_is_down_is_asked_again_after_a_while() -> None:
    leader = LeadingBroker()
    led, here = leader.lead("orders", 0, 0), partition_of("orders", 0)
    follower = FollowingBroker({2: leader})
    leader.is_down = True

    async def body() -> None:
        follower.follow(here, 2, 0)
        await trio.sleep(3.5)
        leader.is_down = False
        await until(lambda: same(here, led), 1.1)
        leader.script.append(lambda _request: None)
        leader.append(led, b"three")
        await until(lambda: len(follower.said) == 4, 2.1)
        assert same(here, led)

    run(follower, body)
    assert leader.connections == 2
    assert follower.said == [
        "warning: replicas of broker 2 cannot be fetched now: broker 2 cannot be reached: Connection refused",
        "replicas of broker 2 are fetched again",
        "warning: replicas of broker 2 cannot be fetched now: broker 2 closed the connection when it was asked Fetch",
        "replicas of broker 2 are fetched again",
    ]


def test_a_leader_that_has_forgotten_the_session_is_told_everything_at_once() -> None:
    leader = LeadingBroker()
    led = [leader.lead("orders", number, 0) for number in range(2)]
    here = [partition_of("orders", number) for number in range(2)]
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        for partition in here:
            follower.follow(partition, 2, 0)
        await until(lambda: len(leader.asked) == 3)
        leader.sessions = type(leader.sessions)(100, iter(range(50, 99)))
        leader.append(led[1], b"three")
        await until(lambda: same(here[1], led[1]), 1)

    run(follower, body)
    fulls = [request for request in leader.asked if request.session_epoch == 0]
    assert [len(keys(request)) for request in fulls] == [2, 2]
    assert not follower.said


@pytest.mark.parametrize("code", [ErrorCode.CLUSTER_AUTHORIZATION_FAILED, 9_999])
def test_a_leader_that_refuses_everything_is_given_some_rest(code: int) -> None:
    leader = LeadingBroker()
    led, here = leader.lead("orders", 0, 0), partition_of("orders", 0)
    follower = FollowingBroker({2: leader})
    refusals: list[float] = []

    def refuse(_request: Message) -> Message:
        refusals.append(trio.current_time())
        return FetchResponse(error_code=code)

    async def body() -> None:
        leader.script.extend([refuse] * 3)
        follower.follow(here, 2, 0)
        await until(lambda: same(here, led))

    run(follower, body)
    assert [later - earlier for earlier, later in itertools.pairwise(refusals)] == [1.0, 1.0]
    assert len(follower.said) == 2


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, True),
        (ErrorCode.UNKNOWN_LEADER_EPOCH, True),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True),
        (ErrorCode.UNKNOWN_TOPIC_ID, True),
        (ErrorCode.INCONSISTENT_TOPIC_ID, True),
        (ErrorCode.KAFKA_STORAGE_ERROR, True),
        (ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE, True),
        (ErrorCode.FENCED_LEADER_EPOCH, False),
    ],
)
def test_a_partition_in_trouble_rests_and_the_others_go_on(code: ErrorCode, told: bool) -> None:
    leader = LeadingBroker()
    led = [leader.lead("orders", number, 0) for number in range(2)]
    here = [partition_of("orders", number) for number in range(2)]
    follower = FollowingBroker({2: leader})
    leader.codes[led[0].name] = code

    async def body() -> None:
        for partition in here:
            follower.follow(partition, 2, 0)
        await until(lambda: same(here[1], led[1]), 0.1)
        await trio.sleep(4.4)
        assert here[0].log.end_offset == 0
        leader.append(led[1], b"three")
        await until(lambda: same(here[1], led[1]), 0.1)
        asked = [number for request in leader.asked for number, _ in keys(request)]
        assert asked.count(0) == (5 if told else 1)
        assert len(follower.fetchers.failed) == (0 if told else 1)
        leader.codes.clear()
        if not told:
            # As long as the metadata says nothing else, it is not asked for any more.
            await trio.sleep(5)
            assert here[0].log.end_offset == 0
            follower.follow(here[0], 2, 1)
            lead(led[0], 1)
        await until(lambda: same(here[0], led[0]))
        assert not follower.fetchers.failed

    run(follower, body)
    assert follower.said == ([f"warning: orders-0 cannot be fetched from broker 2: {code.name}"] if told else [])


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


def test_corrupt_records_are_fetched_again() -> None:
    leader = LeadingBroker()
    led, here = leader.lead("orders", 0, 0), partition_of("orders", 0)
    other, there = leader.lead("orders", 1, 0), partition_of("orders", 1)
    position = led.log.active.size - 1
    led.log.active.file.write(position, [bytes([led.log.active.file.read(position, 1)[0] ^ 1])])
    follower = FollowingBroker({2: leader})

    async def body() -> None:
        follower.follow(here, 2, 0)
        follower.follow(there, 2, 0)
        await until(lambda: same(there, other), 0.1)
        await trio.sleep(2.5)
        led.log.active.file.write(position, [bytes([led.log.active.file.read(position, 1)[0] ^ 1])])
        await until(lambda: same(here, led), 1.1)

    run(follower, body)
    assert len(follower.said) == 1
    assert follower.said[0].startswith("warning: orders-0 does not get on from offset 0, as a follower: CORRUPT")


def test_a_follower_whose_disk_is_full_waits_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = LeadingBroker()
    led = [leader.lead("orders", number, 0) for number in range(2)]
    here = [partition_of("orders", number) for number in range(2)]
    follower = FollowingBroker({2: leader})

    def full(*_: object, **__: object) -> None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "No space left on device")

    async def body() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(here[0].log, "append_as_follower", full)
            for partition in here:
                follower.follow(partition, 2, 0)
            await until(lambda: same(here[1], led[1]), 0.1)
            await trio.sleep(4.5)
            asked = [number for request in leader.asked for number, _ in keys(request)]
            assert asked.count(0) == 5
        await until(lambda: same(here[0], led[0]), 1.1)

    run(follower, body)
    assert len(follower.said) == 1
    assert "No space left on device" in follower.said[0]


def test_a_partition_whose_disk_fails_is_gone_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = LeadingBroker()
    led = [leader.lead("orders", number, 0) for number in range(2)]
    here = [partition_of("orders", number) for number in range(2)]
    follower = FollowingBroker({2: leader})

    def failed(*_: object, **__: object) -> None:
        # As the node does when it is told.
        here[0].resign(ErrorCode.KAFKA_STORAGE_ERROR)
        follower.fetchers.leave(here[0])
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "Input/output error")

    monkeypatch.setattr(here[0].log, "append_as_follower", failed)

    async def body() -> None:
        for partition in here:
            follower.follow(partition, 2, 0)
        await until(lambda: same(here[1], led[1]), 0.1)
        leader.append(led[1], b"three")
        await until(lambda: same(here[1], led[1]), 0.1)
        await trio.sleep(5)

    run(follower, body)
    assert [number for request in leader.asked for number, _ in keys(request)].count(0) == 1
    assert 0 in [number for request in leader.asked for number in forgotten(request)]
    assert not follower.fetchers.failed


def test_what_breaks_in_one_partition_breaks_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = LeadingBroker()
    led = [leader.lead("orders", number, 0) for number in range(2)]
    here = [partition_of("orders", number) for number in range(2)]
    follower = FollowingBroker({2: leader})

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(here[0].log, "append_as_follower", broken)

    async def body() -> None:
        for partition in here:
            follower.follow(partition, 2, 0)
        await until(lambda: same(here[1], led[1]), 0.1)
        assert follower.fetchers.failed == {(here[0].topic_id, 0)}

    run(follower, body)
    assert follower.said == ["exception: orders-0 is not fetched any more: ZeroDivisionError()"]


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


def test_whoever_comes_in_the_place_of_one_that_is_lost_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader says that there is nothing at its offset; before all of that answer is taken, there is a new epoch."""
    leader = LeadingBroker()
    led = [leader.lead("orders", number, 0) for number in range(150)]
    leader.codes[led[0].name] = ErrorCode.OFFSET_OUT_OF_RANGE
    here = [partition_of(*partition.name) for partition in led]
    follower = FollowingBroker({2: leader})
    checkpoint = trio.lowlevel.checkpoint

    async def body() -> None:
        for partition in here:
            follower.follow(partition, 2, 0)

        async def with_news() -> None:
            await checkpoint()
            if leader.codes:
                leader.codes.clear()
                lead(led[0], 1)
                follower.follow(here[0], 2, 1)

        monkeypatch.setattr(trio.lowlevel, "checkpoint", with_news)
        await until(lambda: not leader.codes)
        append(led[0], b"three")
        leader.tell()
        await until(lambda: same(here[0], led[0]))

    run(follower, body)
