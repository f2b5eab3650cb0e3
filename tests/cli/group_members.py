"""Members of groups of every type, by hand: they join, and say nothing more until they leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import uuid4

from barnabas.protocol.log_records import encode_versioned
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from barnabas.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TopicInfo,
    Topology,
)
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from barnabas.protocol.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from tests.cli.beside import Side
from tests.clients.raw_group import find_coordinator
from tests.clients.waiting import wait_until
from tests.kafka.client import RawClient

__all__ = ["classic_member", "commit", "consumer_member", "share_member", "streams_member"]

_LEAVES = -1
_SESSION_MS = 30_000


@contextmanager
def classic_member(
    side: Side, group: str, assigned: Mapping[str, Sequence[int]], *, instance_id: str | None = None
) -> Iterator[str]:
    """The only member of a classic group; its name."""
    with side.client() as client:
        find_coordinator(client, group)
        subscription = encode_versioned(ConsumerProtocolSubscription(topics=list(assigned)), 1)
        joined = _join(client, group, "", instance_id, subscription)
        if not joined.generation_id > 0:
            joined = _join(client, group, joined.member_id, instance_id, subscription)
        _sync(client, group, joined, assigned, instance_id)
        yield joined.member_id
        identity = MemberIdentity(member_id=joined.member_id, group_instance_id=instance_id)
        answer = client.ask(LeaveGroupRequest(group_id=group, members=[identity]), 5, LeaveGroupResponse)
        assert answer.error_code == 0


def _join(
    client: RawClient, group: str, member_id: str, instance_id: str | None, subscription: bytes
) -> JoinGroupResponse:
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=_SESSION_MS,
        rebalance_timeout_ms=_SESSION_MS,
        member_id=member_id,
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription)],
    )
    return client.ask(request, 9, JoinGroupResponse)


def _sync(
    client: RawClient,
    group: str,
    joined: JoinGroupResponse,
    assigned: Mapping[str, Sequence[int]],
    instance_id: str | None,
) -> None:
    topics = [TopicPartition(topic=topic, partitions=list(numbers)) for topic, numbers in assigned.items()]
    data = encode_versioned(ConsumerProtocolAssignment(assigned_partitions=topics), 1)
    request = SyncGroupRequest(
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id=joined.member_id, assignment=data)],
    )
    assert client.ask(request, 5, SyncGroupResponse).error_code == 0


@contextmanager
def consumer_member(side: Side, group: str, topic: str) -> Iterator[str]:
    """Of a group of the consumer protocol (KIP-848); with an assignment when this returns."""
    member_id = str(uuid4())
    with side.client() as client:
        find_coordinator(client, group)

        def beat(epoch: int, topics: list[str] | None = None) -> ConsumerGroupHeartbeatResponse:
            request = ConsumerGroupHeartbeatRequest(
                group_id=group,
                member_id=member_id,
                member_epoch=epoch,
                rebalance_timeout_ms=_SESSION_MS if topics else -1,
                subscribed_topic_names=topics,
                topic_partitions=[] if topics else None,
            )
            answer = client.ask(request, 1, ConsumerGroupHeartbeatResponse)
            assert answer.error_code == 0, answer
            return answer

        epochs = [beat(0, [topic]).member_epoch]

        def is_assigned() -> bool:
            epochs.append(beat(epochs[-1]).member_epoch)
            return _has_all(side, group, "--members")

        wait_until(is_assigned, f"{group} to be assigned something")
        yield member_id
        beat(_LEAVES)


def _has_all(side: Side, group: str, *options: str) -> bool:
    (told,) = side.json("groups describe", group, *options)
    return any(member["assignment"] for member in told["members"])


@contextmanager
def share_member(side: Side, group: str, topic: str) -> Iterator[str]:
    member_id = str(uuid4())
    with side.client() as client:
        find_coordinator(client, group)

        def beat(epoch: int, topics: list[str] | None = None) -> int:
            request = ShareGroupHeartbeatRequest(
                group_id=group, member_id=member_id, member_epoch=epoch, subscribed_topic_names=topics
            )
            answer = client.ask(request, 1, ShareGroupHeartbeatResponse)
            assert answer.error_code == 0, answer
            return answer.member_epoch

        epochs = [beat(0, [topic])]

        def is_assigned() -> bool:
            epochs.append(beat(epochs[-1]))
            return _has_all(side, group, "--share", "--members")

        wait_until(is_assigned, f"{group} to be assigned something")
        yield member_id
        beat(_LEAVES)


@contextmanager
def streams_member(side: Side, group: str, topic: str) -> Iterator[str]:
    member_id = str(uuid4())
    with side.client() as client:
        find_coordinator(client, group)

        def beat(epoch: int, topology: Topology | None = None) -> int:
            tasks: list[object] | None = [] if topology is not None else None
            request = StreamsGroupHeartbeatRequest(
                group_id=group,
                member_id=member_id,
                member_epoch=epoch,
                rebalance_timeout_ms=_SESSION_MS if topology is not None else -1,
                topology=topology,
                active_tasks=tasks,  # type: ignore[arg-type] # of nothing
                standby_tasks=tasks,  # type: ignore[arg-type]
                warmup_tasks=tasks,  # type: ignore[arg-type]
                process_id="process-1" if topology is not None else None,
                client_tags=[] if topology is not None else None,
            )
            answer = client.ask(request, 0, StreamsGroupHeartbeatResponse)
            assert answer.error_code == 0, answer
            return answer.member_epoch

        changelog = TopicInfo(name=f"{group}-store-changelog", partitions=0, replication_factor=1)
        subtopology = Subtopology(subtopology_id="sub-1", source_topics=[topic], state_changelog_topics=[changelog])
        topology = Topology(epoch=1, subtopologies=[subtopology])
        epochs = [beat(0, topology)]

        def has_tasks() -> bool:
            epochs.append(beat(epochs[-1]))
            return _has_tasks(side, group)

        wait_until(has_tasks, f"{group} to have tasks")
        yield member_id
        beat(_LEAVES)


def commit(client: RawClient, group: str, topic: str, partitions: int, offset: int = 2) -> None:
    """As a group's members do before they go."""
    asked = [
        OffsetCommitRequestPartition(partition_index=number, committed_offset=offset) for number in range(partitions)
    ]
    request = OffsetCommitRequest(group_id=group, topics=[OffsetCommitRequestTopic(name=topic, partitions=asked)])
    (answered,) = client.ask(request, 9, OffsetCommitResponse).topics
    assert not any(each.error_code for each in answered.partitions)


def _has_tasks(side: Side, group: str) -> bool:
    (told,) = side.json("groups describe", group, "--streams", "--members")
    return any(member["tasks"]["active"] for member in told["members"])
