"""What time alone decides, and what happens when a broker begins and ends to lead the groups' partition."""

from __future__ import annotations

from barnabas.coordination.groups.classic_group import ClassicGroup, GroupState
from barnabas.coordination.groups.deadlines import EXPIRY, Deadline, join_deadline, member_deadline
from barnabas.coordination.groups.decision import Decision, join_name, sync_name
from barnabas.coordination.groups.expiry import expire
from barnabas.coordination.groups.rebalance import (
    complete_join,
    expect_heartbeat,
    join_response,
    prepare_rebalance,
    remove_and_rebalance,
)
from barnabas.coordination.groups.records import GroupRecord
from barnabas.coordination.groups.shard import GroupShard
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.join_group import JoinGroupResponse
from barnabas.protocol.messages.sync_group import SyncGroupResponse

__all__ = ["decide_loaded", "decide_resigned", "decide_tick"]


def decide_loaded(shard: GroupShard, now_ms: int) -> Outcome[GroupRecord, None]:
    """After the log has been replayed: every member has a session's time to be heard of, and a group above a limit
    that was lowered meanwhile rebalances."""
    decision = Decision(shard, now_ms)
    for loaded in shard.groups.values():
        if not isinstance(loaded, ClassicGroup):
            continue
        for member in loaded.members.values():
            expect_heartbeat(decision, loaded, member)
        if len(loaded.members) > shard.config.max_size:
            prepare_rebalance(decision, decision.change(loaded), "the group is larger than group.max.size allows")
    decision.set_deadline(EXPIRY, shard.config.offsets_retention_check_interval_ms)
    return decision.outcome(None)


def decide_resigned(shard: GroupShard) -> Outcome[GroupRecord, None]:
    """The broker no longer leads the partition: who waits is to look for another. The shard is dropped then."""
    release: dict[str, object] = {}
    for group_id, group in shard.groups.items():
        for member in group.members.values() if isinstance(group, ClassicGroup) else ():
            if member.join_version is not None:
                response = JoinGroupResponse(member_id=member.member_id, error_code=ErrorCode.NOT_COORDINATOR)
                release[join_name(group_id, member.member_id)] = join_response(member.join_version, response)
            if member.awaits_sync:
                refusal = SyncGroupResponse(error_code=ErrorCode.NOT_COORDINATOR)
                release[sync_name(group_id, member.member_id)] = refusal
    return Outcome(release=release)


def decide_tick(shard: GroupShard, now_ms: int) -> Outcome[GroupRecord, None]:
    """What the first deadline brings, if it has come. Each has its own append: the caller asks again as long as
    `deadline_ms` has come too, and before it decides anything else."""
    decision = Decision(shard, now_ms)
    first = shard.deadlines.first()
    if first is None or first[0] > now_ms:
        return decision.outcome(None)
    deadline = first[1]
    decision.cancel_deadline(deadline)
    if deadline == EXPIRY:
        expire(decision)
        return decision.outcome(None)
    group = shard.classic(deadline.group_id)
    if group is not None:
        _HANDLERS[deadline.kind](decision, group, deadline)
    return decision.outcome(None)


def _member_is_overdue(decision: Decision, group: ClassicGroup, deadline: Deadline) -> None:
    member_id = deadline.member_id
    if member_id in group.pending_members:
        group = decision.change(group)
        group.remove(member_id)
        if group.state is GroupState.PREPARING_REBALANCE and group.all_joined:
            complete_join(decision, group)
        return
    member = group.members.get(member_id)
    if member is None or member.is_heard_of:
        return
    remove_and_rebalance(decision, decision.change(group), member, f"member {member_id} was not heard of")


def _rebalance_is_over(decision: Decision, group: ClassicGroup, _deadline: Deadline) -> None:
    assert group.state is GroupState.PREPARING_REBALANCE, "the deadline goes when the rebalance ends"
    group = decision.change(group)
    if group.initial_delay is not None:
        delay_ms, remaining_ms = group.initial_delay
        if group.new_member_added and remaining_ms:
            group.new_member_added = False
            next_delay_ms = min(decision.config.initial_rebalance_delay_ms, remaining_ms)
            group.initial_delay = (next_delay_ms, max(remaining_ms - delay_ms, 0))
            decision.set_deadline(join_deadline(group.group_id), next_delay_ms)
            return
    complete_join(decision, group)


def _sync_is_overdue(decision: Decision, group: ClassicGroup, _deadline: Deadline) -> None:
    if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE) or not group.pending_sync:
        return
    group = decision.change(group)
    silent = sorted(group.pending_sync)
    for member_id in silent:
        group.remove(member_id)
        decision.cancel_deadline(member_deadline(group.group_id, member_id))
    prepare_rebalance(decision, group, f"members sent no SyncGroup: {', '.join(silent)}")


_HANDLERS = {"member": _member_is_overdue, "join": _rebalance_is_over, "sync": _sync_is_overdue}
