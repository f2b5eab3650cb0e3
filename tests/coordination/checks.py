"""What holds of groups whatever has been asked."""

from __future__ import annotations

from collections import Counter

from barnabas.coordination.groups import GroupShard
from barnabas.coordination.groups.classic_group import ClassicGroup, GroupState
from barnabas.coordination.groups.deadlines import join_deadline, member_deadline, sync_deadline
from barnabas.coordination.groups.decision import join_name, sync_name
from tests.coordination.coordinator import Coordinator


def check_durable(coordinator: Coordinator) -> None:
    """The log alone brings back every offset, and every group as it was when it was last stable or empty."""
    ours, replayed = coordinator.shard, coordinator.replayed()
    assert list(replayed.offsets.committed) == list(ours.offsets.committed)
    assert {producer: sorted(each) for producer, each in replayed.offsets.pending.items()} == {
        producer: sorted(each) for producer, each in ours.offsets.pending.items()
    }
    assert replayed.groups.keys() <= ours.groups.keys()
    for group in ours.groups.values():
        assert isinstance(group, ClassicGroup)
        durable = replayed.classic(group.group_id)
        if durable is None:
            # It began with a commit of which every partition was refused, and has not had a generation written since.
            assert group.state is not GroupState.STABLE
            assert not group.is_empty or group.generation == 0
        elif group.state in (GroupState.STABLE, GroupState.EMPTY):
            assert what_is_durable(durable) == what_is_durable(group)
        else:
            assert durable.generation <= group.generation


def what_is_durable(group: ClassicGroup) -> object:
    members = {
        member.member_id: (
            member.instance_id,
            member.client_id,
            member.session_timeout_ms,
            member.rebalance_timeout_ms,
            member.metadata(group.protocol_name),
            member.assignment,
        )
        for member in group.members.values()
    }
    return group.state, group.generation, group.protocol_name, group.leader, group.static_members, members


def names_of_waiting(shard: GroupShard) -> list[str]:
    names = []
    for group in shard.groups.values():
        assert isinstance(group, ClassicGroup)
        for member in group.members.values():
            if member.awaits_join:
                names.append(join_name(group.group_id, member.member_id))
            if member.awaits_sync:
                names.append(sync_name(group.group_id, member.member_id))
    return names


def check_group(group: ClassicGroup, shard: GroupShard) -> None:
    """What is counted is so many, what is indexed is there, and nobody waits for what will not come."""
    members = group.members
    assert all(member_id == member.member_id for member_id, member in members.items())
    assert group.awaiting_join == sum(member.awaits_join for member in members.values())
    support = Counter(name for member in members.values() for name in dict(member.protocols))
    assert group.protocol_support == dict(support)
    assert group.static_members == {
        member.instance_id: member_id for member_id, member in members.items() if member.instance_id is not None
    }
    assert not group.pending_members & members.keys()
    assert (group.leader in members) if members else group.leader is None
    assert group.is_empty <= (not members)
    assert len(members) <= shard.config.max_size or group.state is GroupState.PREPARING_REBALANCE
    if members:
        assert any(count == len(members) for count in support.values()), "some protocol is everybody's"
    deadlines = shard.deadlines
    for member_id in [*members, *group.pending_members]:
        heard_of = member_id in members and members[member_id].is_heard_of
        assert heard_of or deadlines.get(member_deadline(group.group_id, member_id)) is not None
    preparing = group.state is GroupState.PREPARING_REBALANCE
    assert (deadlines.get(join_deadline(group.group_id)) is not None) == preparing
    if group.state is GroupState.COMPLETING_REBALANCE:
        assert not any(member.awaits_join for member in members.values())
        assert group.pending_sync or deadlines.get(sync_deadline(group.group_id)) is None
    if group.state is GroupState.STABLE:
        assert not any(member.awaits_join or member.awaits_sync for member in members.values())
