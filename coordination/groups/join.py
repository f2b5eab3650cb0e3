"""JoinGroup 0-9: a member comes, or comes again, and is answered when the group's next generation begins.

What is not obvious:
- A dynamic member without an id is told one (from version 4, MEMBER_ID_REQUIRED) and becomes a pending member, who has
  its session timeout to join with it; before, it joins at once. Static members always join at once.
- A static member that returns without an id takes over from the one that has its instance id, whose requests are then
  fenced. In a stable group that changes nothing but the id, unless the chosen protocol would be another.
- A refused first JoinGroup leaves an empty group behind, with a record.
- A JoinGroup that changes nothing is answered at once with the generation there is.
- From version 9 a returning static leader is told the members, and that it need not assign; before, it is told the
  leader's old id, so that it does not take itself for the leader.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from barnabas.coordination.groups.classic_group import ClassicGroup, GroupState, Member
from barnabas.coordination.groups.config import NEW_MEMBER_JOIN_TIMEOUT_MS
from barnabas.coordination.groups.deadlines import member_deadline
from barnabas.coordination.groups.decision import Decision, join_name
from barnabas.coordination.groups.other_groups import OtherGroup
from barnabas.coordination.groups.rebalance import (
    UNKNOWN_MEMBER_ID,
    described_members,
    expect_heartbeat,
    generation_response,
    join_response,
    maybe_complete_join,
    prepare_rebalance,
    rebalance_or_complete_join,
    release_join,
    release_sync,
)
from barnabas.coordination.groups.records import GroupRecord, empty_group_record, group_record
from barnabas.coordination.groups.shard import GroupShard
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from barnabas.protocol.messages.sync_group import SyncGroupResponse

__all__ = ["decide_join_group"]

_MEMBER_ID_REQUIRED_FROM = 4
_SKIP_ASSIGNMENT_FROM = 9


def decide_join_group(
    shard: GroupShard,
    request: JoinGroupRequest,
    version: int,
    now_ms: int,
    *,
    client_id: str,
    client_host: str,
    random_id: str,
) -> Outcome[GroupRecord, JoinGroupResponse]:
    """`random_id` is a fresh UUID's text: a member that has no id gets one that ends with it. `client_host` is written
    as Kafka writes addresses, with a slash in front."""
    decision = Decision(shard, now_ms)
    try:
        group, is_new = _group_to_join(decision, request)
        joining = _Joining(decision, group, request, version, client_id, client_host, request.member_id)
        waited = _waits(group, request.member_id)
        reply = joining.decide(random_id)
    except _Refused as refused:
        return decision.outcome(join_response(version, refused.response))
    if is_new:
        decision.records.append(empty_group_record(group))
    if reply is not None:
        return decision.outcome(join_response(version, reply))
    name = join_name(group.group_id, joining.member_id)
    answer = decision.release.get(name)
    if not isinstance(answer, JoinGroupResponse):
        return decision.outcome(None, waits_as=name)
    if not waited:
        del decision.release[name]
    return decision.outcome(answer)


class _Refused(Exception):  # noqa: N818 - no fault of ours
    """Before any group was touched."""

    def __init__(self, code: ErrorCode, member_id: str) -> None:
        super().__init__(code)
        self.response = JoinGroupResponse(error_code=code, member_id=member_id)


def _group_to_join(decision: Decision, request: JoinGroupRequest) -> tuple[ClassicGroup, bool]:
    group = decision.shard.groups.get(request.group_id)
    if isinstance(group, OtherGroup):
        raise _Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID)
    if group is not None:
        return decision.change(group), False
    if request.member_id != UNKNOWN_MEMBER_ID:
        raise _Refused(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
    return decision.create(request.group_id), True


def _waits(group: ClassicGroup, member_id: str) -> bool:
    return member_id in group.members and group.members[member_id].awaits_join


@dataclass(slots=True)
class _Joining:
    """One JoinGroup, and the copy of the group that it changes. Its methods answer None where the request waits, if
    only until the generation that it completes is announced."""

    decision: Decision
    group: ClassicGroup
    request: JoinGroupRequest
    version: int
    client_id: str
    client_host: str
    member_id: str

    def decide(self, random_id: str) -> JoinGroupResponse | None:
        if not self._has_room():
            self.group.remove(self.member_id)
            return self._refusal(ErrorCode.GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID)
        if not self.group.supports(self.request.protocol_type, [each.name for each in self.request.protocols]):
            return self._refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, self.member_id)
        if self.member_id == UNKNOWN_MEMBER_ID:
            instance_id = self.request.group_instance_id
            self.member_id = f"{self.client_id if instance_id is None else instance_id}-{random_id}"
            return self._join_without_id()
        return self._join_with_id()

    def _has_room(self) -> bool:
        """In a rebalance who has joined counts, so that a group above a lowered limit loses those who come last."""
        group, limit = self.group, self.decision.config.max_size
        if group.is_empty:
            return True
        if group.state is GroupState.PREPARING_REBALANCE:
            return _waits(group, self.member_id) or group.awaiting_join < limit
        return self.member_id in group.members or len(group.members) < limit

    def _refusal(self, code: ErrorCode, member_id: str) -> JoinGroupResponse:
        return JoinGroupResponse(error_code=code, member_id=member_id)

    # Members without an id

    def _join_without_id(self) -> JoinGroupResponse | None:
        instance_id = self.request.group_instance_id
        if instance_id is not None:
            existing = self.group.static_members.get(instance_id)
            return self._add() if existing is None else self._replace_static(self.group.members[existing])
        if self.version < _MEMBER_ID_REQUIRED_FROM:
            return self._add()
        self.group.pending_members.add(self.member_id)
        deadline = member_deadline(self.group.group_id, self.member_id)
        self.decision.set_deadline(deadline, self.request.session_timeout_ms)
        return self._refusal(ErrorCode.MEMBER_ID_REQUIRED, self.member_id)

    def _add(self) -> JoinGroupResponse | None:
        group, request = self.group, self.request
        member = Member(
            self.member_id,
            request.group_instance_id,
            self.client_id,
            self.client_host,
            self._rebalance_timeout_ms(),
            request.session_timeout_ms,
            request.protocol_type,
            self._protocols(),
            join_version=self.version,
            is_new=True,
        )
        if group.state is GroupState.PREPARING_REBALANCE and group.previous_state is GroupState.EMPTY:
            group.new_member_added = True
        group.add(member)
        # It cannot send heartbeats before it is answered, and nobody sees its connection break meanwhile.
        deadline = member_deadline(group.group_id, self.member_id)
        self.decision.set_deadline(deadline, NEW_MEMBER_JOIN_TIMEOUT_MS)
        what = f"member {self.member_id} is new"
        rebalance_or_complete_join(self.decision, group, self._reason(what))
        return None

    def _replace_static(self, old: Member) -> JoinGroupResponse | None:
        group, decision = self.group, self.decision
        leader_before = group.leader
        fenced = JoinGroupResponse(member_id=old.member_id, error_code=ErrorCode.FENCED_INSTANCE_ID)
        release_join(decision, group, old, fenced)
        old = group.members[old.member_id]
        release_sync(decision, group, old, SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        group.rename(old.member_id, self.member_id)
        decision.cancel_deadline(member_deadline(group.group_id, old.member_id))
        expect_heartbeat(decision, group, group.members[self.member_id])
        what = f"static member {old.member_id} came back as {self.member_id}"
        if group.state is GroupState.STABLE:
            self._update(join_version=None)
            if group.select_protocol() == group.protocol_name:
                decision.records.append(group_record(group))
                return self._returning_response(leader_before)
        self._update(join_version=self.version)
        if group.can_rebalance:
            prepare_rebalance(decision, group, self._reason(what))
        else:
            maybe_complete_join(decision, group)
        return None

    def _returning_response(self, leader_before: str | None) -> JoinGroupResponse:
        response = generation_response(self.group, self.member_id, [])
        if self.version < _SKIP_ASSIGNMENT_FROM:
            response.leader = leader_before or ""
        elif self.group.leader == self.member_id:
            response.members = described_members(self.group)
            response.skip_assignment = True
        return response

    # Members with an id

    def _join_with_id(self) -> JoinGroupResponse | None:
        group, member_id = self.group, self.member_id
        if member_id in group.pending_members:
            if self.request.group_instance_id is not None:
                return self._refusal(ErrorCode.UNKNOWN_SERVER_ERROR, UNKNOWN_MEMBER_ID)
            return self._add()
        try:
            group.check_member(member_id, self.request.group_instance_id)
        except KafkaError as error:
            return self._refusal(error.code, member_id)
        assert not group.is_empty, "an empty group has no members"
        same = group.members[member_id].protocols == self._protocols()
        is_leader = group.leader == member_id
        if group.state is GroupState.COMPLETING_REBALANCE and same:
            members = described_members(group) if is_leader else []
            return generation_response(group, member_id, members)
        if group.state is GroupState.STABLE and same and not is_leader:
            return generation_response(group, member_id, [])
        # The leader of a stable group says by joining that there is something new to assign.
        what = f"member {member_id} joins again" if same else f"member {member_id} has changed its protocols"
        self._update(join_version=self.version)
        rebalance_or_complete_join(self.decision, group, self._reason(what))
        return None

    # What the request says

    def _update(self, *, join_version: int | None) -> None:
        member = self.group.members[self.member_id]
        self.group.put(
            replace(
                member,
                protocols=self._protocols(),
                rebalance_timeout_ms=self._rebalance_timeout_ms(),
                session_timeout_ms=self.request.session_timeout_ms,
                join_version=join_version,
            )
        )

    def _protocols(self) -> tuple[tuple[str, bytes], ...]:
        return tuple((each.name, bytes(each.metadata)) for each in self.request.protocols)

    def _rebalance_timeout_ms(self) -> int:
        return self.request.session_timeout_ms if self.version == 0 else self.request.rebalance_timeout_ms

    def _reason(self, what: str) -> str:
        return f"{what}; the client says: {self.request.reason or 'not provided'}"
