"""Consumer groups as a test sees them: who is in one, what he was given, and how far the group has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from barnabas.protocol.errors import ErrorCode, MalformedFrame
from barnabas.testing.asking import ask

if TYPE_CHECKING:
    from barnabas.broker.node import Node
    from barnabas.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember

__all__ = ["Group", "GroupMember", "describe_groups", "fetch_group_offsets"]

_BY_NAME = 9
"""The last version of OffsetFetch that names topics."""
_VERSION_BYTES = 2
_LOADING_S = 0.001
"""Right after a start, until the groups have been read from their log."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[tuple[str, int], ...]
    """What it was given, as far as its protocol is that of consumers."""


@dataclass(frozen=True, slots=True)
class Group:
    id: str
    state: str
    """As Kafka calls it: Empty, PreparingRebalance, CompletingRebalance, Stable."""
    protocol: str
    """The assignor that the members agreed on."""
    members: tuple[GroupMember, ...]


async def describe_groups(node: Node) -> dict[str, Group]:
    from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
    from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

    listed = await ask(node, ListGroupsRequest(), ListGroupsResponse)
    while listed.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        await trio.sleep(_LOADING_S)
        listed = await ask(node, ListGroupsRequest(), ListGroupsResponse)
    ids = sorted(one.group_id for one in listed.groups)
    if not ids:
        return {}
    described = await ask(node, DescribeGroupsRequest(groups=ids), DescribeGroupsResponse)
    return {one.group_id: _group(one) for one in described.groups if not one.error_code}


async def fetch_group_offsets(node: Node, group_id: str) -> dict[tuple[str, int], int]:
    """Nothing of a group that is not there."""
    from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse

    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group_id, topics=None)])
    answer = await ask(node, request, OffsetFetchResponse, _BY_NAME)
    while any(group.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS for group in answer.groups):
        await trio.sleep(_LOADING_S)
        answer = await ask(node, request, OffsetFetchResponse, _BY_NAME)
    return {
        (topic.name, one.partition_index): one.committed_offset
        for group in answer.groups
        for topic in group.topics
        for one in topic.partitions
        if not one.error_code and one.committed_offset >= 0
    }


def _group(one: DescribedGroup) -> Group:
    members = tuple(_member(member) for member in one.members)
    return Group(one.group_id, one.group_state, one.protocol_data, members)


def _member(one: DescribedGroupMember) -> GroupMember:
    return GroupMember(
        one.member_id,
        one.group_instance_id,
        one.client_id,
        one.client_host.removeprefix("/"),
        _assigned(bytes(one.member_assignment)),
    )


def _assigned(data: bytes) -> tuple[tuple[str, int], ...]:
    from barnabas.protocol.codec import decode_from
    from barnabas.protocol.records.consumer_protocol import ConsumerProtocolAssignment

    if len(data) < _VERSION_BYTES:
        return ()
    try:
        assignment, _ = decode_from(ConsumerProtocolAssignment, 0, data, _VERSION_BYTES)
    except MalformedFrame:
        return ()  # of another protocol, as Kafka Connect's
    return tuple(
        sorted((topic.topic, number) for topic in assignment.assigned_partitions for number in topic.partitions)
    )
