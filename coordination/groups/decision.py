"""What a decision gathers while it is made: records, answers, deadlines, and copies of the groups it changes."""

from __future__ import annotations

from typing import TypeVar

from barnabas.coordination.groups.classic_group import ClassicGroup
from barnabas.coordination.groups.deadlines import Deadline
from barnabas.coordination.groups.records import GroupRecord
from barnabas.coordination.groups.shard import Changes, GroupShard
from barnabas.coordination.outcome import Outcome

__all__ = ["Decision", "join_name", "sync_name"]

Reply = TypeVar("Reply")


def join_name(group_id: str, member_id: str) -> str:
    """The name under which a member's JoinGroup waits; quoted, so that no two are the same."""
    return f"JoinGroup {group_id!r} {member_id!r}"


def sync_name(group_id: str, member_id: str) -> str:
    return f"SyncGroup {group_id!r} {member_id!r}"


class Decision:
    def __init__(self, shard: GroupShard, now_ms: int) -> None:
        self.shard = shard
        self.config = shard.config
        self.now_ms = now_ms
        self.records: list[GroupRecord] = []
        self.release: dict[str, object] = {}
        self._groups: dict[str, ClassicGroup] = {}
        self._deadlines: dict[Deadline, int | None] = {}

    def create(self, group_id: str) -> ClassicGroup:
        group = ClassicGroup(group_id, state_since_ms=self.now_ms)
        self._groups[group_id] = group
        return group

    def change(self, group: ClassicGroup) -> ClassicGroup:
        """The copy of the shard's group that this decision may change."""
        copy = group.copy()
        self._groups[group.group_id] = copy
        return copy

    def set_deadline(self, key: Deadline, delay_ms: int) -> None:
        self._deadlines[key] = self.now_ms + delay_ms

    def cancel_deadline(self, key: Deadline) -> None:
        self._deadlines[key] = None

    def outcome(self, reply: Reply | None, waits_as: str | None = None) -> Outcome[GroupRecord, Reply]:
        changes = Changes(self._groups, self._deadlines) if self._groups or self._deadlines else None
        return Outcome(
            self.records,
            reply,
            release=self.release,
            deadline_ms=self._next_deadline_ms(),
            changes=changes,
            waits_as=waits_as,
        )

    def _next_deadline_ms(self) -> int | None:
        """The shard's first deadline counts even if it is moved here: what stands behind it shows when it is asked."""
        first_ms = self.shard.deadline_ms
        for at_ms in self._deadlines.values():
            if at_ms is not None and (first_ms is None or at_ms < first_ms):
                first_ms = at_ms
        return first_ms
