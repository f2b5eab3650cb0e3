"""SyncGroup 0-5: the leader says what each member is assigned, and every member is told its own.

What is not obvious: the generation is written to the log with the leader's SyncGroup, not before; whoever asks first
waits for the leader. The protocol's type and name have to be the group's, where they are said.
"""

from __future__ import annotations

from dataclasses import replace

from barnabas.coordination.groups.append_errors import error_of_append
from barnabas.coordination.groups.classic_group import ClassicGroup, GroupState
from barnabas.coordination.groups.deadlines import sync_deadline
from barnabas.coordination.groups.decision import Decision, sync_name
from barnabas.coordination.groups.rebalance import prepare_rebalance, reset_assignments, set_assignments
from barnabas.coordination.groups.records import GroupRecord
from barnabas.coordination.groups.shard import GroupShard
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

__all__ = ["decide_sync_failed", "decide_sync_group"]


def decide_sync_group(
    shard: GroupShard, request: SyncGroupRequest, now_ms: int
) -> Outcome[GroupRecord, SyncGroupResponse]:
    decision = Decision(shard, now_ms)
    try:
        group = decision.change(_group_to_sync(shard, request))
    except KafkaError as error:
        return decision.outcome(SyncGroupResponse(error_code=error.code))
    group.pending_sync.discard(request.member_id)
    if not group.pending_sync:
        decision.cancel_deadline(sync_deadline(group.group_id))
    member = group.members[request.member_id]
    if group.state is GroupState.STABLE:
        return decision.outcome(
            SyncGroupResponse(
                protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
            )
        )
    waited = member.awaits_sync
    group.members[member.member_id] = replace(member, awaits_sync=True)
    name = sync_name(group.group_id, member.member_id)
    if group.leader != member.member_id:
        return decision.outcome(None, waits_as=name)
    set_assignments(decision, group, {each.member_id: bytes(each.assignment) for each in request.assignments})
    answer = decision.release[name]
    assert isinstance(answer, SyncGroupResponse)
    if not waited:
        del decision.release[name]
    return decision.outcome(answer)


def decide_sync_failed(
    shard: GroupShard, request: SyncGroupRequest, error: ErrorCode, now_ms: int
) -> Outcome[GroupRecord, SyncGroupResponse]:
    """After the append of a leader's SyncGroup has failed with this error: all who wait for the assignment are told so
    too, and the group has to find together again. Nothing of this is in the log."""
    decision = Decision(shard, now_ms)
    code = error_of_append(error)
    found = shard.classic(request.group_id)
    if found is not None and found.state is GroupState.COMPLETING_REBALANCE:
        group = decision.change(found)
        reset_assignments(decision, group, code)
        prepare_rebalance(decision, group, f"the assignment could not be written: {code.name}")
    return decision.outcome(SyncGroupResponse(error_code=code))


def _group_to_sync(shard: GroupShard, request: SyncGroupRequest) -> ClassicGroup:
    """A group that is completing its rebalance, or stable, with this member in this generation."""
    group = shard.classic(request.group_id)
    if group is None or group.is_empty:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    group.check_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol_name):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.state is GroupState.PREPARING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    return group


def _differs(said: str | None, known: str | None) -> bool:
    return said is not None and known is not None and said != known
