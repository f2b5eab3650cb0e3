"""LeaveGroup 0-5: members go, and the others rebalance. It is answered at once, whatever the group is doing.

From version 3 on it names several members, static ones also by their instance id alone: so an administrator removes
them. Before, the one member's error is the whole answer's.
"""

from __future__ import annotations

from barnabas.coordination.groups.classic_group import ClassicGroup, GroupState
from barnabas.coordination.groups.deadlines import member_deadline
from barnabas.coordination.groups.decision import Decision
from barnabas.coordination.groups.rebalance import (
    UNKNOWN_MEMBER_ID,
    maybe_complete_join,
    prepare_rebalance,
    remove_member,
)
from barnabas.coordination.groups.records import GroupRecord
from barnabas.coordination.groups.shard import GroupShard
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

__all__ = ["decide_leave_group", "leaving_members"]

_SEVERAL_MEMBERS_FROM = 3


def leaving_members(request: LeaveGroupRequest, version: int) -> list[MemberIdentity]:
    return request.members if version >= _SEVERAL_MEMBERS_FROM else [MemberIdentity(member_id=request.member_id)]


def decide_leave_group(
    shard: GroupShard, request: LeaveGroupRequest, version: int, now_ms: int
) -> Outcome[GroupRecord, LeaveGroupResponse]:
    decision = Decision(shard, now_ms)
    found = shard.classic(request.group_id)
    group = None if found is None else decision.change(found)
    responses = []
    for member in leaving_members(request, version):
        code = ErrorCode.UNKNOWN_MEMBER_ID if group is None else _leave(decision, group, member)
        responses.append(
            MemberResponse(member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=code)
        )
    if group is not None and any(response.error_code == ErrorCode.NONE for response in responses):
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            prepare_rebalance(decision, group, _reason(request, version))
        else:
            maybe_complete_join(decision, group)
    if version < _SEVERAL_MEMBERS_FROM:
        return decision.outcome(LeaveGroupResponse(error_code=responses[0].error_code))
    return decision.outcome(LeaveGroupResponse(members=responses))


def _leave(decision: Decision, group: ClassicGroup, leaving: MemberIdentity) -> ErrorCode:
    member_id = leaving.member_id
    if member_id == UNKNOWN_MEMBER_ID:
        if leaving.group_instance_id not in group.static_members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        member_id = group.static_members[leaving.group_instance_id]
    elif member_id in group.pending_members:
        group.remove(member_id)
        decision.cancel_deadline(member_deadline(group.group_id, member_id))
        return ErrorCode.NONE
    else:
        try:
            group.check_member(member_id, leaving.group_instance_id)
        except KafkaError as error:
            return error.code
    decision.cancel_deadline(member_deadline(group.group_id, member_id))
    remove_member(decision, group, group.members[member_id])
    return ErrorCode.NONE


def _reason(request: LeaveGroupRequest, version: int) -> str:
    said = [f"{each.member_id} ({each.reason or 'not provided'})" for each in leaving_members(request, version)]
    return "members have left: " + ", ".join(said)
