"""The groups and offsets that one partition of __consumer_offsets keeps: the state that decisions read.

Only two calls change it: `replay`, with a record of the log, and `apply`, with what a decision came to, which replays
the decision's records and then puts in place what is in memory alone: members of a generation that is not written
yet, requests that wait, deadlines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from barnabas.coordination.groups.classic_group import ClassicGroup
from barnabas.coordination.groups.config import GroupConfig
from barnabas.coordination.groups.deadlines import Deadline, Deadlines
from barnabas.coordination.groups.offsets import NO_PRODUCER_ID, CommittedOffset, OffsetStore
from barnabas.coordination.groups.other_groups import OtherGroup
from barnabas.coordination.groups.records import GroupRecord
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.records.classic_group import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from barnabas.protocol.schema import Data

__all__ = ["Changes", "GroupShard"]

Reply = TypeVar("Reply")


class Changes(msgspec.Struct, frozen=True):
    """What a decision changes in memory alone."""

    groups: Mapping[str, ClassicGroup]
    deadlines: Mapping[Deadline, int | None]
    """None cancels."""


class GroupShard:
    def __init__(self, config: GroupConfig) -> None:
        self.config = config
        self.groups: dict[str, ClassicGroup | OtherGroup] = {}
        self.offsets = OffsetStore()
        self.deadlines = Deadlines()

    def classic(self, group_id: str) -> ClassicGroup | None:
        group = self.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    @property
    def deadline_ms(self) -> int | None:
        """When `decide_tick` has something to do; None where nothing was loaded."""
        return self.deadlines.first_ms

    def apply(self, outcome: Outcome[GroupRecord, Reply], first_offset: int, producer_id: int = NO_PRODUCER_ID) -> None:
        """What was appended, `first_offset` being the first record's, in a batch of `producer_id` if it was part of a
        transaction; without records any offset will do."""
        for offset, record in enumerate(outcome.records, first_offset):
            self.replay(record.key, record.value, offset, producer_id)
        changes = outcome.changes
        if changes is None:
            return
        assert isinstance(changes, Changes)
        self.groups.update(changes.groups)
        for key, at_ms in changes.deadlines.items():
            if at_ms is None:
                self.deadlines.cancel(key)
            else:
                self.deadlines.set(key, at_ms)

    def replay(self, key: Data, value: Data | None, offset: int, producer_id: int = NO_PRODUCER_ID) -> None:
        """One record of the log."""
        match key:
            case OffsetCommitKey() | LegacyOffsetCommitKey():
                self._replay_offset(key, value, offset, producer_id)
            case GroupMetadataKey():
                if value is None:
                    self.groups.pop(key.group, None)
                else:
                    assert isinstance(value, GroupMetadataValue)
                    self.groups[key.group] = ClassicGroup.of_record(key.group, value)
            case _:
                self._replay_other(key, value)

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        """A marker in the log, or one that was just appended."""
        self.offsets.end_transaction(producer_id, committed=committed)

    def _replay_offset(
        self, key: OffsetCommitKey | LegacyOffsetCommitKey, value: Data | None, offset: int, producer_id: int
    ) -> None:
        if value is None:
            self.offsets.remove(key.group, key.topic, key.partition)
            return
        if isinstance(value, LegacyOffsetCommitValue):
            value = OffsetCommitValue(
                offset=value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp
            )
        assert isinstance(value, OffsetCommitValue)
        # Offsets without a group's record are those of consumers without membership: a group all the same.
        if key.group not in self.groups:
            self.groups[key.group] = ClassicGroup(key.group)
        committed = CommittedOffset.of_record(value, offset)
        self.offsets.put(key.group, key.topic, key.partition, committed, producer_id)

    def _replay_other(self, key: Data, value: Data | None) -> None:
        group_type = OtherGroup.type_of(key)
        if group_type is None:
            return
        group_id: str = key.group_id  # type: ignore[attr-defined]  # all these keys have one
        group = self.groups.get(group_id)
        if not isinstance(group, OtherGroup) or group.type is not group_type:
            if value is None:
                return
            group = OtherGroup(group_id, group_type)
        if group.replay(key, value):
            self.groups[group_id] = group
        else:
            del self.groups[group_id]
