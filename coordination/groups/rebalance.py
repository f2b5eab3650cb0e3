"""From one generation to the next: the steps that JoinGroup, LeaveGroup, SyncGroup and the clock set off.

    Empty, Stable, CompletingRebalance -- prepare_rebalance --> PreparingRebalance: everybody has to join
    PreparingRebalance -- complete_join --> CompletingRebalance: a generation, whose leader is to assign; or Empty
    CompletingRebalance -- the leader's SyncGroup --> Stable, written to the log

A group that was empty waits for its initial delay, which every new member prolongs up to the rebalance timeout; any
other completes when all have joined, or drops those who have not when the longest rebalance timeout has passed.
Static members are kept even if they do not join; only their session ends them.
"""

from __future__ import annotations

from dataclasses import replace

from barnabas.coordination.groups.classic_group import ClassicGroup, GroupState, Member
from barnabas.coordination.groups.deadlines import join_deadline, member_deadline, sync_deadline
from barnabas.coordination.groups.decision import Decision, join_name, sync_name
from barnabas.coordination.groups.records import group_record
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from barnabas.protocol.messages.sync_group import SyncGroupResponse

__all__ = [
    "UNKNOWN_MEMBER_ID",
    "complete_join",
    "described_members",
    "expect_heartbeat",
    "generation_response",
    "join_response",
    "maybe_complete_join",
    "prepare_rebalance",
    "rebalance_or_complete_join",
    "release_join",
    "release_sync",
    "remove_and_rebalance",
    "remove_member",
    "reset_assignments",
    "set_assignments",
]

UNKNOWN_MEMBER_ID = ""
_NULLABLE_PROTOCOL_NAME = 7


# Answers


def join_response(version: int, response: JoinGroupResponse) -> JoinGroupResponse:
    """No protocol is the empty name before version 7, and null from there on."""
    response.protocol_name = response.protocol_name or (None if version >= _NULLABLE_PROTOCOL_NAME else "")
    return response


def generation_response(
    group: ClassicGroup, member_id: str, members: list[JoinGroupResponseMember]
) -> JoinGroupResponse:
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader or "",
        member_id=member_id,
        members=members,
    )


def described_members(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    """What the leader is told, so that it can assign."""
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            metadata=member.metadata(group.protocol_name),
        )
        for member in group.members_in_order()
    ]


def release_join(decision: Decision, group: ClassicGroup, member: Member, response: JoinGroupResponse) -> None:
    """Answers its JoinGroup, if that waits."""
    if member.join_version is None:
        return
    decision.release[join_name(group.group_id, member.member_id)] = join_response(member.join_version, response)
    group.put(replace(member, join_version=None))


def release_sync(decision: Decision, group: ClassicGroup, member: Member, response: SyncGroupResponse) -> None:
    """Answers its SyncGroup, if that waits, and from then on heartbeats are due again."""
    if not member.awaits_sync:
        return
    decision.release[sync_name(group.group_id, member.member_id)] = response
    group.members[member.member_id] = replace(member, awaits_sync=False)
    expect_heartbeat(decision, group, member)


def expect_heartbeat(decision: Decision, group: ClassicGroup, member: Member) -> None:
    decision.set_deadline(member_deadline(group.group_id, member.member_id), member.session_timeout_ms)


# Assignments


def set_assignments(decision: Decision, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
    """The leader's word: members that it does not name get an empty assignment. The record says since when the group
    was completing its rebalance: Kafka writes it before it calls the group stable."""
    group.set_assignments(assignments)
    decision.records.append(group_record(group))
    for member in list(group.members.values()):
        response = SyncGroupResponse(
            protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
        )
        release_sync(decision, group, member, response)
    group.move_to(GroupState.STABLE, decision.now_ms)


def reset_assignments(decision: Decision, group: ClassicGroup, error: ErrorCode) -> None:
    group.set_assignments({})
    for member in list(group.members.values()):
        release_sync(decision, group, member, SyncGroupResponse(error_code=error))


# Generations


def prepare_rebalance(decision: Decision, group: ClassicGroup, reason: str) -> None:
    if group.state is GroupState.COMPLETING_REBALANCE:
        reset_assignments(decision, group, ErrorCode.REBALANCE_IN_PROGRESS)
    group.pending_sync.clear()
    decision.cancel_deadline(sync_deadline(group.group_id))
    group.rebalance_reason = reason
    if group.is_empty:
        delay_ms = decision.config.initial_rebalance_delay_ms
        group.initial_delay = (delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        group.move_to(GroupState.PREPARING_REBALANCE, decision.now_ms)
        decision.set_deadline(join_deadline(group.group_id), delay_ms)
        return
    group.move_to(GroupState.PREPARING_REBALANCE, decision.now_ms)
    if group.all_joined:
        complete_join(decision, group)
    else:
        decision.set_deadline(join_deadline(group.group_id), group.rebalance_timeout_ms)


def rebalance_or_complete_join(decision: Decision, group: ClassicGroup, reason: str) -> None:
    if group.can_rebalance:
        prepare_rebalance(decision, group, reason)
    else:
        maybe_complete_join(decision, group)


def maybe_complete_join(decision: Decision, group: ClassicGroup) -> None:
    """An initial rebalance completes only by its delay."""
    if (
        group.state is GroupState.PREPARING_REBALANCE
        and group.previous_state is not GroupState.EMPTY
        and group.all_joined
    ):
        complete_join(decision, group)


def complete_join(decision: Decision, group: ClassicGroup) -> None:
    decision.cancel_deadline(join_deadline(group.group_id))
    group.initial_delay = None
    for member in list(group.members.values()):
        if not member.awaits_join and member.instance_id is None:
            group.remove(member.member_id)
            decision.cancel_deadline(member_deadline(group.group_id, member.member_id))
    if not group.elect_joined_leader() and group.members:
        # Only static members are left, and none has joined: their sessions decide what comes of them.
        decision.set_deadline(join_deadline(group.group_id), group.rebalance_timeout_ms)
        return
    group.begin_generation(decision.now_ms)
    if group.is_empty:
        decision.records.append(group_record(group))
    else:
        _announce_generation(decision, group)


def _announce_generation(decision: Decision, group: ClassicGroup) -> None:
    for member in group.members_in_order():
        members = described_members(group) if member.member_id == group.leader else []
        release_join(decision, group, member, generation_response(group, member.member_id, members))
        group.put(replace(group.members[member.member_id], is_new=False))
        group.pending_sync.add(member.member_id)
        expect_heartbeat(decision, group, member)
    decision.set_deadline(sync_deadline(group.group_id), group.rebalance_timeout_ms)


# Members that go


def remove_member(decision: Decision, group: ClassicGroup, member: Member) -> None:
    """What waits for it is told that nobody knows it: should it be alive, it joins again. (Kafka answers only a
    waiting JoinGroup, and leaves a SyncGroup for the client to give up.)"""
    unknown = JoinGroupResponse(member_id=UNKNOWN_MEMBER_ID, error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    release_join(decision, group, member, unknown)
    if member.awaits_sync:
        refusal = SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        decision.release[sync_name(group.group_id, member.member_id)] = refusal
    group.remove(member.member_id)


def remove_and_rebalance(decision: Decision, group: ClassicGroup, member: Member, reason: str) -> None:
    remove_member(decision, group, member)
    if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        prepare_rebalance(decision, group, reason)
    elif group.state is GroupState.PREPARING_REBALANCE and group.all_joined:
        complete_join(decision, group)
