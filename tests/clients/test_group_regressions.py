"""What young brokers got wrong with groups, asked request by request."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from tests.clients.broker_process import BrokerProcess
from tests.clients.raw_group import RawMember, find_coordinator
from tests.clients.raw_records import create_topic
from tests.clients.waiting import wait_until
from tests.kafka.client import RawClient

OK = 0
STORM = 50


@pytest.fixture
def members(broker: BrokerProcess, name: str) -> Iterator[list[RawMember]]:
    """Three that have not joined yet; there is a topic of the same name as the group."""
    with ExitStack() as stack:
        clients = [stack.enter_context(RawClient(broker.host, broker.port)) for _ in range(3)]
        create_topic(clients[0], name)
        find_coordinator(clients[0], name)
        yield [RawMember(each, name) for each in clients]


def wait_for_rebalance(member: RawMember) -> None:
    wait_until(lambda: member.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS, "the rebalance")


def test_commits_while_the_group_rebalances(members: list[RawMember], name: str) -> None:
    """While members are gathered the old generation still commits; while the assignment is awaited nobody does."""
    first, second, _ = members
    with ThreadPoolExecutor() as threads:
        assert first.join().error_code == OK
        assert first.sync(first.member_id).error_code == OK
        assert first.commit(name) == OK
        assert first.commit(name, generation=first.generation + 1) == ErrorCode.ILLEGAL_GENERATION
        assert first.commit(name, member_id="stranger") == ErrorCode.UNKNOWN_MEMBER_ID

        joining = threads.submit(second.join)
        wait_for_rebalance(first)
        assert first.commit(name) == OK
        old = first.generation
        assert first.join().error_code == OK
        assert joining.result().error_code == OK

        assert first.commit(name) == second.commit(name) == ErrorCode.REBALANCE_IN_PROGRESS
        assert first.commit(name, generation=old) == ErrorCode.ILLEGAL_GENERATION
        leader, follower = first, second
        waiting = threads.submit(follower.sync)
        assert leader.sync(first.member_id, second.member_id).assignment == leader.member_id.encode()
        assert waiting.result().assignment == follower.member_id.encode()
        assert first.commit(name) == second.commit(name) == OK


def test_who_leaves_is_answered_at_once(members: list[RawMember]) -> None:
    """In a stable group, while others are being gathered, and in a group that has never had an assignment."""
    first, second, third = members
    with ThreadPoolExecutor() as threads:
        assert first.join().error_code == OK
        assert first.sync(first.member_id).error_code == OK
        joining = threads.submit(second.join)
        wait_for_rebalance(first)
        before = time.monotonic()
        assert first.leave() == OK
        assert joining.result().error_code == OK  # it need not wait for one that is gone
        assert second.leave() == OK
        assert third.join().error_code == OK
        assert third.leave() == OK
        assert time.monotonic() - before < 5  # and not the rebalance's twenty seconds, nor the session's ten


def test_who_leaves_waits_for_nobody(members: list[RawMember]) -> None:
    """The others need not have joined again; nor does the next one, who leaves while they are being gathered."""
    first, second, third = members
    with ThreadPoolExecutor() as threads:
        joined = [first.join()]
        for number, new in enumerate((second, third), 2):
            joining = threads.submit(new.join)
            others = members[: number - 1]
            wait_until(lambda: others[0].heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS, "the rebalance")  # noqa: B023
            joined = [*threads.map(RawMember.join, others), joining.result()]
        assert [one.error_code for one in joined] == [OK] * 3
        waiting = [threads.submit(each.sync) for each in (second, third)]
        assert first.sync(*(each.member_id for each in members)).error_code == OK
        assert [one.result().error_code for one in waiting] == [OK] * 2
        before = time.monotonic()
        assert third.leave() == OK
        assert first.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
        assert second.leave() == OK
        assert first.leave() == OK
        assert time.monotonic() - before < 1


@pytest.mark.slow
@pytest.mark.parametrize("kill", [False, True], ids=["stop", "kill"])
def test_what_is_said_with_a_commit_is_kept(own_broker: Callable[..., BrokerProcess], name: str, kill: bool) -> None:
    """Over a restart too, letter by letter; nothing comes back as the empty text."""
    words = ["", None, "the third, or so", "Bärnabas \N{CASTLE} \N{OWL}", "x" * 4096]
    broker = own_broker()
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, name, partitions=len(words))
        find_coordinator(client, name)
        partitions = [
            OffsetCommitRequestPartition(
                partition_index=number, committed_offset=number, committed_leader_epoch=7, committed_metadata=text
            )
            for number, text in enumerate(words)
        ]
        commit = OffsetCommitRequest(
            group_id=name,
            generation_id_or_member_epoch=-1,
            topics=[OffsetCommitRequestTopic(name=name, partitions=partitions)],
        )
        answer = client.ask(commit, 8, OffsetCommitResponse)
        assert [one.error_code for one in answer.topics[0].partitions] == [OK] * len(words)
    broker.restart(kill=kill)
    expected = [(number, 7, text or "") for number, text in enumerate(words)]
    with RawClient(broker.host, broker.port) as client:
        find_coordinator(client, name)

        asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name, topics=None)])
        (group,) = client.ask(asked, 8, OffsetFetchResponse).groups
        found = [one for topic in group.topics for one in topic.partitions]
    assert sorted((one.committed_offset, one.committed_leader_epoch, one.metadata) for one in found) == expected


def test_a_storm_of_members_ends_in_one_generation(broker: BrokerProcess, name: str) -> None:
    """Each behaves as clients do: it joins again for as long as it is told to."""
    with ExitStack() as stack, ThreadPoolExecutor(STORM) as threads:
        clients = [stack.enter_context(RawClient(broker.host, broker.port)) for _ in range(STORM)]
        find_coordinator(clients[0], name)
        members = [RawMember(each, name) for each in clients]
        joined: dict[str, int] = {}

        def live(member: RawMember) -> bytes:
            while True:
                answer = member.join()
                assert answer.error_code == OK, answer
                everybody = [each.member_id for each in answer.members]
                assignment = member.sync(*everybody)
                if assignment.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
                    continue
                assert assignment.error_code == OK, assignment
                joined[member.member_id] = member.generation

                def told(member: RawMember = member) -> bool:
                    code = member.heartbeat()
                    return code == ErrorCode.REBALANCE_IN_PROGRESS or is_settled()

                wait_until(told, "the storm to settle")
                if is_settled():
                    return bytes(assignment.assignment)

        def is_settled() -> bool:
            generations = list(joined.values())
            return len(generations) == STORM and len(set(generations)) == 1

        assignments = list(threads.map(live, members))
    assert [each.member_id.encode() for each in members] == assignments
    assert len({each.member_id for each in members}) == STORM
    assert len({each.generation for each in members}) == 1
