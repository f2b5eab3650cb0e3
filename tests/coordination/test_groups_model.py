"""Clients that join, sync, commit, leave, vanish and err in any order, under a coordinator that is taken over at any
moment; and what has to hold whatever they do.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from barnabas.coordination.groups import GroupConfig, decide_topics_deleted
from barnabas.coordination.groups.classic_group import ClassicGroup, GroupState
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from barnabas.protocol.schema import Message
from tests.coordination.checks import check_durable, check_group, names_of_waiting
from tests.coordination.coordinator import Coordinator

GROUPS = ["a", "b"]
CLIENTS = range(5)
SESSION_MS = 1000

clients = st.sampled_from(CLIENTS)
groups = st.sampled_from(GROUPS)
partitions = st.sampled_from([("orders", 0), ("orders", 1), ("payments", 0)])
protocols = st.sampled_from([("range", "sticky"), ("sticky", "range"), ("range",), ("own", "sticky", "range")])

Place = tuple[str, str, int]


class Client:
    """What a member believes of itself. Odd ones are static."""

    def __init__(self, number: int, group_id: str) -> None:
        self.name = f"client{number}"
        self.group_id = group_id
        self.instance_id = f"instance{number}" if number % 2 else None
        self.member_id = ""
        self.generation = -1
        self.leads = False
        self.waits_as: str | None = None


class Groups(RuleBasedStateMachine):
    @initialize(delay=st.sampled_from([0, 200]))
    def begin(self, delay: int) -> None:
        config = GroupConfig(min_session_timeout_ms=100, initial_rebalance_delay_ms=delay, max_size=4)
        self.coordinator = Coordinator(config)
        self.clients = {(number, group): Client(number, group) for number in CLIENTS for group in GROUPS}
        self.offsets: dict[Place, int] = {}
        self.pending: dict[int, dict[Place, tuple[int, int]]] = {}
        self.written: dict[Place, int] = {}
        self.commits = 0
        self.era = 0
        # What was answered for a generation: its protocol, whose it was to lead, and the members that the leader saw.
        self.generations: dict[tuple[int, str, int], tuple[str | None, str]] = {}
        self.assigned: dict[tuple[int, str, int], dict[str, bytes]] = {}
        self.highest: dict[str, int] = {}

    # Requests

    def ask(self, request: Message, version: int, client: Client | None = None) -> Message | None:
        name = "nobody" if client is None else client.name
        answer, waits_as = self.coordinator.ask(request, version, client_id=name)
        if client is not None and waits_as is not None:
            client.waits_as = waits_as
        self.take_releases()
        return answer

    def take_releases(self) -> None:
        for name, answer in self.coordinator.released.items():
            for client in self.clients.values():
                if client.waits_as == name:
                    client.waits_as = None
                    self.hear(client, answer)
        self.coordinator.released.clear()

    def hear(self, client: Client, answer: Message) -> None:
        if isinstance(answer, JoinGroupResponse):
            self.hear_join(client, answer)
        elif isinstance(answer, SyncGroupResponse) and answer.error_code == ErrorCode.NONE:
            agreed = self.assigned[self.era_of(client), client.group_id, client.generation]
            # A static member that came back has its predecessor's.
            expected = {member.rpartition("-")[0]: assignment for member, assignment in agreed.items()}
            assert answer.assignment == expected.get(client.member_id.rpartition("-")[0], b"")

    def era_of(self, client: Client) -> int:
        """Of the generation that it is in: one that was written outlives the broker that led it."""
        return max(
            era
            for era, group, generation in self.assigned
            if (group, generation) == (client.group_id, client.generation)
        )

    def hear_join(self, client: Client, answer: JoinGroupResponse) -> None:
        code = answer.error_code
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            client.member_id = answer.member_id
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.GROUP_MAX_SIZE_REACHED):
            client.member_id, client.generation = "", -1
        elif code == ErrorCode.NONE:
            client.member_id, client.generation = answer.member_id, answer.generation_id
            client.leads = answer.leader == answer.member_id
            about = self.era, client.group_id, answer.generation_id
            said = answer.protocol_name, answer.leader.rpartition("-")[0]
            assert self.generations.setdefault(about, said) == said, "one protocol and one leader a generation"
            if client.leads and not answer.skip_assignment:
                assert answer.member_id in {member.member_id for member in answer.members}

    @rule(number=clients, group=groups, version=st.sampled_from([3, 5, 9]), names=protocols)
    def join(self, number: int, group: str, version: int, names: tuple[str, ...]) -> None:
        client = self.clients[number, group]
        if client.waits_as is not None:
            return
        if client.instance_id is not None:
            version = max(version, 5)
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=2000,
            member_id=client.member_id,
            group_instance_id=client.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=name, metadata=b"") for name in names],
        )
        answer = self.ask(request, version, client)
        if answer is not None:
            self.hear(client, answer)

    @rule(group=groups, some=st.sets(clients, min_size=1), version=st.sampled_from([3, 5, 9]), names=protocols)
    def several_join(self, group: str, some: set[int], version: int, names: tuple[str, ...]) -> None:
        for number in sorted(some):
            self.join(number, group, version, names)
            if self.clients[number, group].generation < 0:
                self.join(number, group, version, names)
        self.time_passes(200)

    @rule(group=groups, some=st.sets(clients, min_size=2))
    def several_sync(self, group: str, some: set[int]) -> None:
        for number in sorted(some):
            self.sync(number, group, 0)

    @rule(group=groups, version=st.sampled_from([5, 9]), names=protocols)
    def all_join_and_sync(self, group: str, version: int, names: tuple[str, ...]) -> None:
        self.several_join(group, set(CLIENTS), version, names)
        self.several_join(group, set(CLIENTS), version, names)
        self.several_sync(group, set(CLIENTS))

    @rule(number=clients, group=groups)
    def forget(self, number: int, group: str) -> None:
        """The process dies and starts again, with no memory of its id."""
        self.clients[number, group] = Client(number, group)

    @rule(number=clients, group=groups, wrong=st.sampled_from([0, 0, 0, 1]))
    def sync(self, number: int, group: str, wrong: int) -> None:
        client = self.clients[number, group]
        if client.waits_as is not None:
            return
        known = self.coordinator.shard.groups.get(group)
        members = list(known.members) if isinstance(known, ClassicGroup) else []
        assignments = {member: f"{self.era} {client.generation} {member}".encode() for member in members}
        request = SyncGroupRequest(
            group_id=group,
            generation_id=client.generation + wrong,
            member_id=client.member_id,
            group_instance_id=client.instance_id,
        )
        if client.leads:
            request.assignments = [
                SyncGroupRequestAssignment(member_id=member, assignment=assignment)
                for member, assignment in assignments.items()
            ]
        assigns = (
            isinstance(known, ClassicGroup)
            and known.state is GroupState.COMPLETING_REBALANCE
            and (known.generation, known.leader) == (request.generation_id, client.member_id)
        )
        if assigns:
            self.assigned[self.era, group, client.generation] = assignments if client.leads else {}
        answer = self.ask(request, 3, client)
        if answer is not None:
            assert isinstance(answer, SyncGroupResponse)
            assert not wrong or answer.error_code != ErrorCode.NONE
            self.hear(client, answer)

    @rule(number=clients, group=groups)
    def beat(self, number: int, group: str) -> None:
        client = self.clients[number, group]
        request = HeartbeatRequest(
            group_id=group,
            generation_id=client.generation,
            member_id=client.member_id,
            group_instance_id=client.instance_id,
        )
        self.ask(request, 3)

    @rule(number=clients, group=groups, by_instance=st.booleans())
    def leave(self, number: int, group: str, by_instance: bool) -> None:
        client = self.clients[number, group]
        identity = MemberIdentity(member_id=client.member_id, group_instance_id=client.instance_id)
        if by_instance and client.instance_id:
            identity.member_id = ""
        self.ask(LeaveGroupRequest(group_id=group, members=[identity]), 4)

    # Offsets

    @rule(number=clients, group=groups, place=partitions, as_member=st.booleans())
    def commit(self, number: int, group: str, place: tuple[str, int], as_member: bool) -> None:
        client = self.clients[number, group]
        self.commits += 1
        topic, partition = place
        request = OffsetCommitRequest(group_id=group)
        if as_member:
            request.member_id, request.generation_id_or_member_epoch = client.member_id, client.generation
            request.group_instance_id = client.instance_id
        request.topics = [
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[OffsetCommitRequestPartition(partition_index=partition, committed_offset=self.commits)],
            )
        ]
        answer = self.ask(request, 8)
        assert isinstance(answer, OffsetCommitResponse)
        if answer.topics[0].partitions[0].error_code == ErrorCode.NONE:
            self.offsets[group, topic, partition] = self.commits
            self.written[group, topic, partition] = self.commits

    @rule(producer=st.sampled_from([7, 8]), group=groups, place=partitions)
    def commit_in_transaction(self, producer: int, group: str, place: tuple[str, int]) -> None:
        self.commits += 1
        topic, partition = place
        request = TxnOffsetCommitRequest(group_id=group, producer_id=producer)
        request.topics = [
            TxnOffsetCommitRequestTopic(
                name=topic,
                partitions=[TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=self.commits)],
            )
        ]
        answer = self.ask(request, 5)
        assert isinstance(answer, TxnOffsetCommitResponse)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
        self.pending.setdefault(producer, {})[group, topic, partition] = self.commits, self.commits

    @rule(producer=st.sampled_from([7, 8]), committed=st.booleans())
    def end_transaction(self, producer: int, committed: bool) -> None:
        self.coordinator.end_transaction(producer, committed=committed)
        for place, (offset, when) in self.pending.pop(producer, {}).items():
            if committed and when > self.written.get(place, 0):
                self.offsets[place] = offset
                self.written[place] = when

    @rule(group=groups, place=partitions)
    def delete_offset(self, group: str, place: tuple[str, int]) -> None:
        topic, partition = place
        doomed = OffsetDeleteRequestTopic(
            name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=partition)]
        )
        answer = self.ask(OffsetDeleteRequest(group_id=group, topics=[doomed]), 0)
        assert isinstance(answer, OffsetDeleteResponse)
        if answer.error_code == ErrorCode.NONE and answer.topics[0].partitions[0].error_code == ErrorCode.NONE:
            self.forget_offset((group, topic, partition))

    @rule(group=groups)
    def delete_group(self, group: str) -> None:
        answer = self.ask(DeleteGroupsRequest(groups_names=[group]), 2)
        assert isinstance(answer, DeleteGroupsResponse)
        if answer.results[0].error_code == ErrorCode.NONE:
            self.highest.pop(group, None)
            self.era += 1  # a group that comes again begins with generation 1 again
            for place in self.known_places():
                if place[0] == group:
                    self.forget_offset(place)

    @rule(topic=st.sampled_from(["orders", "payments"]))
    def delete_topic(self, topic: str) -> None:
        coordinator = self.coordinator
        ids = {topic: coordinator.topics.ids[topic]}
        coordinator.take(decide_topics_deleted(coordinator.shard, ids, coordinator.now_ms))
        for place in self.known_places():
            if place[1] == topic:
                self.forget_offset(place)

    def known_places(self) -> list[Place]:
        return [*self.offsets, *(place for places in self.pending.values() for place in places)]

    def forget_offset(self, place: Place) -> None:
        self.offsets.pop(place, None)
        self.written.pop(place, None)
        for places in self.pending.values():
            places.pop(place, None)

    # Time, and brokers

    @rule(by_ms=st.sampled_from([1, 100, 300, 1000, 2500]))
    def time_passes(self, by_ms: int) -> None:
        self.coordinator.advance(by_ms)
        self.take_releases()

    @rule()
    def another_broker_takes_over(self) -> None:
        self.coordinator.take_over()
        self.take_releases()
        assert not self.coordinator.waiting, "everybody is told"
        self.era += 1
        self.highest.clear()  # generations that were not written come again

    # What has to hold

    @invariant()
    def offsets_are_the_models(self) -> None:
        if not hasattr(self, "coordinator"):
            return
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None) for group in GROUPS])
        answer = self.coordinator.ask(request, 8)[0]
        assert isinstance(answer, OffsetFetchResponse)
        assert {
            (group.group_id, topic.name, partition.partition_index): partition.committed_offset
            for group in answer.groups
            for topic in group.topics
            for partition in topic.partitions
        } == self.offsets

    @invariant()
    def groups_are_whole(self) -> None:
        if not hasattr(self, "coordinator"):
            return
        shard = self.coordinator.shard
        for group in shard.groups.values():
            assert isinstance(group, ClassicGroup)
            check_group(group, shard)
            assert group.generation >= self.highest.get(group.group_id, 0), "generations only rise"
            self.highest[group.group_id] = group.generation
        assert set(self.coordinator.waiting) == set(names_of_waiting(shard))

    @invariant()
    def the_log_brings_back_what_is_durable(self) -> None:
        if not hasattr(self, "coordinator"):
            return
        check_durable(self.coordinator)


TestGroups = pytest.mark.slow(Groups.TestCase)
TestGroups.settings = settings(
    max_examples=60, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
