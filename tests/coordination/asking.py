"""Requests as scenarios write them: `JoinGroup.5 group=g member=alice-1 protocols=range,sticky`.

offsets=orders-0:7:note:3      partition 0 of orders, offset 7, metadata "note", leader epoch 3
protocols=range:x,sticky       in this order; metadata "x", or a consumer's subscription to `topics`
assign=alice-1:a,bob-2:b       what the leader assigns
members=alice-1,/first         who leaves; /first by the instance id alone
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from barnabas.protocol.log_records import encode_versioned
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas.protocol.records.consumer_protocol import ConsumerProtocolSubscription
from barnabas.protocol.schema import Message, Uuid

UNKNOWN_TOPIC_ID = Uuid(b"nobody has this.")

IdOf = Callable[[str], Uuid | None]


class Words:
    """The `name=value` words of a line; every one has to be asked for."""

    def __init__(self, words: list[str]) -> None:
        self._values = dict(word.split("=", 1) for word in words)

    def text(self, name: str, default: str = "") -> str:
        return self._values.pop(name, default)

    def maybe(self, name: str) -> str | None:
        return self._values.pop(name, None)

    def number(self, name: str, default: int) -> int:
        return int(self._values.pop(name, default))

    def items(self, name: str, default: str = "") -> list[str]:
        return [item for item in self.text(name, default).split(",") if item]

    def end(self) -> None:
        assert not self._values, f"not understood: {self._values}"


def parse_request(text: str, id_of: IdOf) -> tuple[Message, int]:
    name, *rest = shlex.split(text)
    api, _, version = name.partition(".")
    words = Words(rest)
    request = _PARSERS[api](words, int(version), id_of)
    words.end()
    return request, int(version)


def _join(words: Words, version: int, id_of: IdOf) -> Message:
    subscription = encode_versioned(ConsumerProtocolSubscription(topics=words.items("topics", "orders")), 1)
    protocols = []
    for item in words.items("protocols", "range"):
        name, colon, metadata = item.partition(":")
        protocols.append(JoinGroupRequestProtocol(name=name, metadata=metadata.encode() if colon else subscription))
    return JoinGroupRequest(
        group_id=words.text("group"),
        session_timeout_ms=words.number("session", 10_000),
        rebalance_timeout_ms=words.number("rebalance", 60_000),
        member_id=words.text("member"),
        group_instance_id=words.maybe("instance"),
        protocol_type=words.text("type", "consumer"),
        protocols=protocols,
        reason=words.maybe("reason"),
    )


def _sync(words: Words, version: int, id_of: IdOf) -> Message:
    assignments = []
    for item in words.items("assign"):
        member_id, _, assignment = item.partition(":")
        assignments.append(SyncGroupRequestAssignment(member_id=member_id, assignment=assignment.encode()))
    return SyncGroupRequest(
        group_id=words.text("group"),
        generation_id=words.number("generation", 1),
        member_id=words.text("member"),
        group_instance_id=words.maybe("instance"),
        protocol_type=words.maybe("type"),
        protocol_name=words.maybe("protocol"),
        assignments=assignments,
    )


def _heartbeat(words: Words, version: int, id_of: IdOf) -> Message:
    return HeartbeatRequest(
        group_id=words.text("group"),
        generation_id=words.number("generation", 1),
        member_id=words.text("member"),
        group_instance_id=words.maybe("instance"),
    )


def _leave(words: Words, version: int, id_of: IdOf) -> Message:
    if version < 3:
        return LeaveGroupRequest(group_id=words.text("group"), member_id=words.text("member"))
    members = []
    for item in words.items("members"):
        member_id, slash, instance_id = item.partition("/")
        members.append(MemberIdentity(member_id=member_id, group_instance_id=instance_id if slash else None))
    return LeaveGroupRequest(group_id=words.text("group"), members=members)


def _partitions(items: list[str]) -> dict[str, list[tuple[int, list[str]]]]:
    topics: dict[str, list[tuple[int, list[str]]]] = {}
    for item in items:
        partition, *rest = item.split(":")
        topic, _, index = partition.rpartition("-")
        topics.setdefault(topic, []).append((int(index), rest))
    return topics


def _commit(words: Words, version: int, id_of: IdOf) -> Message:
    topics = []
    for topic, partitions in _partitions(words.items("offsets")).items():
        asked = OffsetCommitRequestTopic()
        if version >= 10:
            asked.topic_id = id_of(topic) or UNKNOWN_TOPIC_ID
        else:
            asked.name = topic
        for index, (offset, *more) in partitions:
            asked.partitions.append(
                OffsetCommitRequestPartition(
                    partition_index=index,
                    committed_offset=int(offset),
                    committed_metadata=more[0] if more else None,
                    committed_leader_epoch=int(more[1]) if len(more) > 1 else -1,
                )
            )
        topics.append(asked)
    return OffsetCommitRequest(
        group_id=words.text("group"),
        generation_id_or_member_epoch=words.number("generation", -1),
        member_id=words.text("member"),
        group_instance_id=words.maybe("instance"),
        retention_time_ms=words.number("retention", -1),
        topics=topics,
    )


def _txn_commit(words: Words, version: int, id_of: IdOf) -> Message:
    topics = []
    for topic, partitions in _partitions(words.items("offsets")).items():
        topics.append(
            TxnOffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=int(offset),
                        committed_metadata=more[0] if more else None,
                    )
                    for index, (offset, *more) in partitions
                ],
            )
        )
    return TxnOffsetCommitRequest(
        group_id=words.text("group"),
        transactional_id=words.text("transaction", "t"),
        producer_id=words.number("producer", 1),
        generation_id=words.number("generation", -1),
        member_id=words.text("member"),
        group_instance_id=words.maybe("instance"),
        topics=topics,
    )


def _fetch(words: Words, version: int, id_of: IdOf) -> Message:
    everything = words.maybe("all") is not None
    topics = _partitions(words.items("offsets"))
    stable = bool(words.maybe("stable"))
    group_ids = words.items("group")
    if version < 8:
        flat = [
            OffsetFetchRequestTopic(name=name, partition_indexes=[index for index, _ in indexes])
            for name, indexes in topics.items()
        ]
        (group_id,) = group_ids or [""]
        return OffsetFetchRequest(
            group_id=group_id, topics=None if everything else flat, require_stable=stable and version >= 7
        )
    groups = []
    for group_id in group_ids:
        nested = []
        for name, indexes in topics.items():
            asked = OffsetFetchRequestTopics(partition_indexes=[index for index, _ in indexes])
            if version >= 10:
                asked.topic_id = id_of(name) or UNKNOWN_TOPIC_ID
            else:
                asked.name = name
            nested.append(asked)
        groups.append(OffsetFetchRequestGroup(group_id=group_id, topics=None if everything else nested))
    return OffsetFetchRequest(groups=groups, require_stable=stable)


def _delete_offsets(words: Words, version: int, id_of: IdOf) -> Message:
    return OffsetDeleteRequest(
        group_id=words.text("group"),
        topics=[
            OffsetDeleteRequestTopic(
                name=topic,
                partitions=[OffsetDeleteRequestPartition(partition_index=index) for index, _ in partitions],
            )
            for topic, partitions in _partitions(words.items("offsets")).items()
        ],
    )


def _describe(words: Words, version: int, id_of: IdOf) -> Message:
    return DescribeGroupsRequest(groups=words.items("groups"))


def _list(words: Words, version: int, id_of: IdOf) -> Message:
    return ListGroupsRequest(states_filter=words.items("states"), types_filter=words.items("types"))


def _delete_groups(words: Words, version: int, id_of: IdOf) -> Message:
    return DeleteGroupsRequest(groups_names=words.items("groups"))


_PARSERS: dict[str, Callable[[Words, int, IdOf], Message]] = {
    "JoinGroup": _join,
    "SyncGroup": _sync,
    "Heartbeat": _heartbeat,
    "LeaveGroup": _leave,
    "OffsetCommit": _commit,
    "TxnOffsetCommit": _txn_commit,
    "OffsetFetch": _fetch,
    "OffsetDelete": _delete_offsets,
    "DescribeGroups": _describe,
    "ListGroups": _list,
    "DeleteGroups": _delete_groups,
}
