"""DescribeGroups 0-6, ListGroups 0-5, DeleteGroups 0-2, OffsetDelete 0: what administrators ask of groups.

A broker leads several partitions of __consumer_offsets, and such a request may be about groups of all of them: it asks
each partition's shard for its part (`partition_of_group`) and puts the answers together.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.coordination.groups.classic_group import ClassicGroup, GroupState
from barnabas.coordination.groups.deadlines import member_deadline
from barnabas.coordination.groups.decision import Decision
from barnabas.coordination.groups.other_groups import GroupType, OtherGroup
from barnabas.coordination.groups.records import GroupRecord, group_tombstone, offset_tombstone
from barnabas.coordination.groups.shard import GroupShard
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from barnabas.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from barnabas.protocol.messages.list_groups import ListedGroup, ListGroupsRequest
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

__all__ = ["decide_delete_groups", "decide_offset_delete", "delete_group_records", "describe_group", "list_groups"]

_DEAD = "Dead"
_NOT_FOUND_FROM = 6


# DescribeGroups


def describe_group(shard: GroupShard, group_id: str, version: int) -> DescribedGroup:
    """Up to version 5 a group that does not exist is a dead one."""
    group = shard.groups.get(group_id)
    if isinstance(group, ClassicGroup):
        return _described(group)
    described = DescribedGroup(group_id=group_id, group_state=_DEAD)
    if version >= _NOT_FOUND_FROM:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        what = "not found" if group is None else "is not a classic group"
        described.error_message = f"Group {group_id} {what}."
    return described


def _described(group: ClassicGroup) -> DescribedGroup:
    """Metadata and protocol are told of a stable group alone."""
    stable = group.state is GroupState.STABLE
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if stable else "",
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(group.protocol_name) if stable else b"",
                member_assignment=member.assignment,
            )
            for member in group.members_in_order()
        ],
    )


# ListGroups


def list_groups(shard: GroupShard, request: ListGroupsRequest) -> list[ListedGroup]:
    """Filters are compared without case. What is no state, or no type, matches no group."""
    states = {state.lower().strip() for state in request.states_filter}
    types = {each.lower() for each in request.types_filter}
    listed = []
    for group in shard.groups.values():
        entry = _listed(group)
        if (not states or entry.group_state.lower() in states) and (not types or entry.group_type in types):
            listed.append(entry)
    return listed


def _listed(group: ClassicGroup | OtherGroup) -> ListedGroup:
    if isinstance(group, ClassicGroup):
        return ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=GroupType.CLASSIC.value,
        )
    kind = group.type.value  # which these protocols' types are called, too
    return ListedGroup(group_id=group.group_id, protocol_type=kind, group_state=group.state, group_type=kind)


# DeleteGroups


def decide_delete_groups(
    shard: GroupShard, group_ids: Iterable[str], now_ms: int
) -> Outcome[GroupRecord, DeleteGroupsResponse]:
    """Only empty groups can be deleted, their offsets with them. A group named twice counts once."""
    decision = Decision(shard, now_ms)
    response = DeleteGroupsResponse()
    for group_id in dict.fromkeys(group_ids):
        code = ErrorCode.NONE
        try:
            _check_delete(shard.groups.get(group_id))
            delete_group_records(decision, group_id)
        except KafkaError as error:
            code = error.code
        response.results.append(DeletableGroupResult(group_id=group_id, error_code=code))
    return decision.outcome(response)


def _check_delete(group: ClassicGroup | OtherGroup | None) -> None:
    if group is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    if isinstance(group, OtherGroup):
        # Kafka deletes such a group when it is empty, with all its records, of which nobody keeps track here.
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP if group.member_ids else ErrorCode.UNSUPPORTED_VERSION)
    if not group.is_empty:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)


def delete_group_records(decision: Decision, group_id: str) -> None:
    """Tombstones for an empty classic group, its offsets, and those of open transactions."""
    store = decision.shard.offsets
    doomed = [
        (topic, index) for topic, partitions in store.committed.of_group(group_id).items() for index in partitions
    ]
    doomed += [each for each in store.pending_partitions(group_id) if store.committed.get(group_id, *each) is None]
    decision.records += [offset_tombstone(group_id, topic, index) for topic, index in doomed]
    bury_group(decision, group_id)


def bury_group(decision: Decision, group_id: str) -> None:
    """The tombstone of a group, and nothing more falls due for those who were about to join it."""
    decision.records.append(group_tombstone(group_id))
    group = decision.shard.classic(group_id)
    for member_id in group.pending_members if group is not None else ():
        decision.cancel_deadline(member_deadline(group_id, member_id))


# OffsetDelete


def decide_offset_delete(
    shard: GroupShard, request: OffsetDeleteRequest, now_ms: int
) -> Outcome[GroupRecord, OffsetDeleteResponse]:
    """Deletes offsets of topics that the group does not subscribe to; a group that is not of consumers has to be
    empty, as nobody can know what it subscribes to."""
    decision = Decision(shard, now_ms)
    group = shard.groups.get(request.group_id)
    try:
        _check_offset_delete(group)
    except KafkaError as error:
        return decision.outcome(OffsetDeleteResponse(error_code=error.code))
    assert group is not None
    response = OffsetDeleteResponse()
    for topic in request.topics:
        subscribed = group.is_subscribed_to(topic.name) if isinstance(group, ClassicGroup) else bool(group.member_ids)
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE
        if not subscribed:
            _delete_offsets(decision, request.group_id, topic)
        response.topics.append(
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(partition_index=each.partition_index, error_code=code)
                    for each in topic.partitions
                ],
            )
        )
    return decision.outcome(response)


def _check_offset_delete(group: ClassicGroup | OtherGroup | None) -> None:
    if group is None or (isinstance(group, OtherGroup) and group.type is GroupType.SHARE):
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    if isinstance(group, ClassicGroup) and not group.is_empty and not group.uses_consumer_protocol:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)


def _delete_offsets(decision: Decision, group_id: str, topic: OffsetDeleteRequestTopic) -> None:
    store = decision.shard.offsets
    for partition in topic.partitions:
        index = partition.partition_index
        if store.committed.get(group_id, topic.name, index) or store.is_pending(group_id, topic.name, index):
            decision.records.append(offset_tombstone(group_id, topic.name, index))
