"""Many members at once: they end in one generation, and what a request costs does not grow with the group."""

from __future__ import annotations

import random
import time

import pytest

from barnabas.coordination.groups import GroupConfig, decide_heartbeat
from barnabas.coordination.groups.classic_group import ClassicGroup, GroupState
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.coordination.coordinator import Coordinator


class Storm:
    """Members of one group, by number."""

    def __init__(self, size: int, *, delay_ms: int = 3000) -> None:
        config = GroupConfig(initial_rebalance_delay_ms=delay_ms)
        self.coordinator = Coordinator(config, watched=False)
        self.member_ids = dict.fromkeys(range(size), "")
        self.waits: dict[str, int] = {}
        self.joined: dict[int, JoinGroupResponse] = {}
        self.synced: dict[int, SyncGroupResponse] = {}

    def join(self, number: int, *, member_id: str | None = None) -> None:
        request = JoinGroupRequest(
            group_id="storm",
            session_timeout_ms=45_000,
            rebalance_timeout_ms=60_000,
            member_id=self.member_ids[number] if member_id is None else member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        answer, waits_as = self.coordinator.ask(request, 9, client_id=f"c{number}")
        self.hear(number, answer, waits_as)

    def sync(self, number: int) -> None:
        joined = self.joined[number]
        request = SyncGroupRequest(
            group_id="storm",
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            assignments=[
                SyncGroupRequestAssignment(member_id=each.member_id, assignment=each.member_id.encode())
                for each in joined.members
            ],
        )
        answer, waits_as = self.coordinator.ask(request, 3, client_id=f"c{number}")
        self.hear(number, answer, waits_as)

    def hear(self, number: int, answer: object, waits_as: str | None) -> None:
        if waits_as is not None:
            self.waits[waits_as] = number
        else:
            self.note(number, answer)
        self.collect()
        if isinstance(answer, JoinGroupResponse) and answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.join(number)

    def collect(self) -> None:
        for name, answer in self.coordinator.released.items():
            self.note(self.waits.pop(name), answer)
        self.coordinator.released.clear()

    def note(self, number: int, answer: object) -> None:
        if isinstance(answer, JoinGroupResponse):
            self.member_ids[number] = answer.member_id
            self.joined[number] = answer
        else:
            assert isinstance(answer, SyncGroupResponse)
            self.synced[number] = answer

    def advance(self, by_ms: int) -> None:
        self.coordinator.advance(by_ms)
        self.collect()

    @property
    def group(self) -> ClassicGroup:
        group = self.coordinator.shard.classic("storm")
        assert group is not None
        return group

    def check_one_generation(self) -> None:
        size = len(self.member_ids)
        assert len(self.joined) == size
        assert {
            (each.error_code, each.generation_id, each.protocol_name, each.leader) for each in self.joined.values()
        } == {(ErrorCode.NONE, self.group.generation, "range", self.group.leader)}
        (leader,) = [each for each in self.joined.values() if each.members]
        assert leader.member_id == leader.leader
        assert {each.member_id for each in leader.members} == set(self.group.members) == set(self.member_ids.values())


@pytest.mark.parametrize("size", [2, 50, 500])
def test_all_who_join_are_in_one_generation(size: int) -> None:
    storm = Storm(size)
    for number in range(size):
        storm.join(number)
    storm.advance(6000)
    storm.check_one_generation()
    order = list(range(size))
    random.Random(size).shuffle(order)
    for number in order:
        storm.sync(number)
    assert storm.group.state is GroupState.STABLE
    assert all(
        (answer.error_code, answer.assignment) == (ErrorCode.NONE, storm.member_ids[number].encode())
        for number, answer in storm.synced.items()
    )
    assert len(storm.synced) == size
    assert len(storm.coordinator.log) == 2, "that there is a group, and its one generation"


def test_members_who_come_one_after_the_other_end_in_one_generation() -> None:
    """Without an initial delay each new member makes all the others join again."""
    storm = Storm(40, delay_ms=0)
    for number in range(40):
        storm.join(number)
        for other in range(number):
            if other in storm.joined:
                del storm.joined[other]
                storm.join(other)
    storm.check_one_generation()


@pytest.mark.slow
def test_a_heartbeat_in_a_large_group_costs_what_it_costs_in_a_small_one() -> None:
    assert heartbeat_cost(2000) < 20 * heartbeat_cost(10)


def heartbeat_cost(size: int) -> float:
    """The shortest of several rounds of heartbeats of random members, in seconds a heartbeat."""
    storm = Storm(size)
    for number in range(size):
        storm.join(number)
    storm.advance(6000)
    shard = storm.coordinator.shard
    chooser = random.Random(size)
    rounds = []
    for _ in range(7):
        members = [chooser.randrange(size) for _ in range(500)]
        requests = [
            HeartbeatRequest(group_id="storm", generation_id=storm.group.generation, member_id=storm.member_ids[number])
            for number in members
        ]
        begun = time.perf_counter()
        for request in requests:
            outcome = decide_heartbeat(shard, request, storm.coordinator.now_ms)
            shard.apply(outcome, 0)
            assert outcome.reply == HeartbeatResponse()
        rounds.append((time.perf_counter() - begun) / len(requests))
        storm.coordinator.now_ms += 3000
    return min(rounds)
