"""The records that classic groups and committed offsets are kept in, with the versions that Kafka 4.3.1 writes.

A GroupMetadata value is written whole at every change: of its members it holds the chosen protocol's metadata alone.
An OffsetCommit value has version 4 with the topic's id; a commit that says for how long it is to be kept (OffsetCommit
2 to 4) has version 1, the only one with an expiry, and no id and no leader epoch then.
"""

from __future__ import annotations

import msgspec

from barnabas.coordination.groups.classic_group import ClassicGroup
from barnabas.coordination.groups.offsets import NO_EXPIRY
from barnabas.protocol.log_records import encode_coordinator_key, encode_versioned
from barnabas.protocol.records.classic_group import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from barnabas.protocol.schema import Data

__all__ = [
    "GroupRecord",
    "empty_group_record",
    "group_record",
    "group_tombstone",
    "offset_record",
    "offset_tombstone",
]

_GROUP_METADATA_VERSION = 3
_OFFSET_VERSION = 4
_EXPIRING_OFFSET_VERSION = 1


class GroupRecord(msgspec.Struct, frozen=True, gc=False):
    """One record of __consumer_offsets, before it is bytes."""

    key: Data
    value: Data | None = None
    """None: what the key names is gone."""
    version: int = 0
    """Of the value; keys have version 0."""

    def key_bytes(self) -> bytes:
        return encode_coordinator_key(self.key)

    def value_bytes(self) -> bytes | None:
        return None if self.value is None else encode_versioned(self.value, self.version)


def group_record(group: ClassicGroup) -> GroupRecord:
    """The group with the assignments that its members have."""
    members = [
        MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.metadata(group.protocol_name),
            assignment=member.assignment,
        )
        for member in group.members_in_order()
    ]
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader,
        current_state_timestamp=-1 if group.state_since_ms is None else group.state_since_ms,
        members=members,
    )
    return GroupRecord(GroupMetadataKey(group=group.group_id), value, _GROUP_METADATA_VERSION)


def empty_group_record(group: ClassicGroup) -> GroupRecord:
    """That the group exists: Kafka writes as much when a first JoinGroup comes, before there is a generation."""
    value = GroupMetadataValue(
        protocol=None,
        leader=None,
        current_state_timestamp=-1 if group.state_since_ms is None else group.state_since_ms,
    )
    return GroupRecord(GroupMetadataKey(group=group.group_id), value, _GROUP_METADATA_VERSION)


def group_tombstone(group_id: str) -> GroupRecord:
    return GroupRecord(GroupMetadataKey(group=group_id))


def offset_record(group_id: str, topic: str, partition: int, value: OffsetCommitValue) -> GroupRecord:
    version = _OFFSET_VERSION if value.expire_timestamp == NO_EXPIRY else _EXPIRING_OFFSET_VERSION
    return GroupRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), value, version)


def offset_tombstone(group_id: str, topic: str, partition: int) -> GroupRecord:
    return GroupRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition))
