"""What young brokers got wrong with groups, asked request by request."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from tests.clients.broker_process import BrokerProcess
from tests.clients.raw_group import RawMember
from tests.clients.waiting import wait_until
from tests.kafka.client import RawClient

OK = 0
STORM = 50


@pytest.fixture
def members(broker: BrokerProcess, name: str) -> Iterator[list[RawMember]]:
    """Three that have not joined yet; there is a topic of the same name as the group."""
    with ExitStack() as stack:
        clients = [stack.enter_context(RawClient(broker.host, broker.port)) for _ in range(3)]
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        clients[0].ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 7, CreateTopicsResponse)
        find_coordinator(clients[0], name)
        yield [RawMember(each, name) for each in clients]


def find_coordinator(client: RawClient, group: str) -> None:
    """It may have to be made first."""

    def found() -> bool:
        answer = client.ask(FindCoordinatorRequest(coordinator_keys=[group]), 4, FindCoordinatorResponse)
        return answer.coordinators[0].error_code == OK

    wait_until(found, "a coordinator")


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
