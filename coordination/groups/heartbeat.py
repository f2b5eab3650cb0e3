"""Heartbeat 0-4: a member lives, and learns whether it has to join again."""

from __future__ import annotations

from barnabas.coordination.groups.classic_group import GroupState
from barnabas.coordination.groups.decision import Decision
from barnabas.coordination.groups.rebalance import expect_heartbeat
from barnabas.coordination.groups.records import GroupRecord
from barnabas.coordination.groups.shard import GroupShard
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

__all__ = ["decide_heartbeat"]


def decide_heartbeat(
    shard: GroupShard, request: HeartbeatRequest, now_ms: int
) -> Outcome[GroupRecord, HeartbeatResponse]:
    decision = Decision(shard, now_ms)
    try:
        code = _beat(decision, request)
    except KafkaError as error:
        code = error.code
    return decision.outcome(HeartbeatResponse(error_code=code))


def _beat(decision: Decision, request: HeartbeatRequest) -> ErrorCode:
    group = decision.shard.classic(request.group_id)
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    group.check_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    expect_heartbeat(decision, group, group.members[request.member_id])
    rebalancing = group.state is GroupState.PREPARING_REBALANCE
    return ErrorCode.REBALANCE_IN_PROGRESS if rebalancing else ErrorCode.NONE
