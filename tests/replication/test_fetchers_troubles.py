"""Fetchers whose leaders, links or disks fail: who is in trouble rests, and the others go on."""

from __future__ import annotations

import itertools

import pytest
import trio

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import FetchResponse
from barnabas.protocol.schema import Message

from .fetching import (
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
