"""One call for every request to a coordinator, and the parts of requests that are about groups of several shards.

DescribeGroups, DeleteGroups, OffsetFetch from version 8 on and ListGroups may concern groups that are kept by different
partitions of __consumer_offsets: `parts_by_partition` cuts such a request up, each part is decided where its groups are
kept, and `merge_answers` puts the answers together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from barnabas.coordination.groups.administration import (
    decide_delete_groups,
    decide_offset_delete,
    describe_group,
    list_groups,
)
from barnabas.coordination.groups.decision import Decision
from barnabas.coordination.groups.heartbeat import decide_heartbeat
from barnabas.coordination.groups.join import decide_join_group
from barnabas.coordination.groups.leave import decide_leave_group
from barnabas.coordination.groups.offset_commit import decide_offset_commit, decide_txn_offset_commit
from barnabas.coordination.groups.offset_fetch import fetch_offsets, offset_fetch_response, requested_groups
from barnabas.coordination.groups.records import GroupRecord
from barnabas.coordination.groups.shard import GroupShard
from barnabas.coordination.groups.sync import decide_sync_group
from barnabas.coordination.java_hash import partition_of_group
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.apis import APIS
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from barnabas.protocol.schema import Message

__all__ = ["decide_request", "merge_answers", "only_group", "parts_by_partition"]

M = TypeVar("M", bound=Message)

_MANY_GROUPS_FROM = 8
_OF_GROUPS = (DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest, OffsetFetchRequest)
"""Requests that may be about several."""


def decide_request(
    shard: GroupShard,
    request: Message,
    version: int,
    now_ms: int,
    *,
    client_id: str = "",
    client_host: str = "",
    random_id: str = "",
) -> Outcome[GroupRecord, Message]:
    """Whichever it is; all its groups are this shard's, and its topics the broker has looked at. The last three are
    asked of a JoinGroup alone."""
    match request:
        # The many come first: a case is a look at the class.
        case OffsetCommitRequest():
            return _as_message(decide_offset_commit(shard, request, version, now_ms))
        case HeartbeatRequest():
            return _as_message(decide_heartbeat(shard, request, now_ms))
        case JoinGroupRequest():
            return _as_message(
                decide_join_group(
                    shard,
                    request,
                    version,
                    now_ms,
                    client_id=client_id,
                    client_host=client_host,
                    random_id=random_id,
                )
            )
        case SyncGroupRequest():
            return _as_message(decide_sync_group(shard, request, now_ms))
        case LeaveGroupRequest():
            return _as_message(decide_leave_group(shard, request, version, now_ms))
        case TxnOffsetCommitRequest():
            return _as_message(decide_txn_offset_commit(shard, request, now_ms))
        case OffsetDeleteRequest():
            return _as_message(decide_offset_delete(shard, request, now_ms))
        case DeleteGroupsRequest():
            return _as_message(decide_delete_groups(shard, request.groups_names, now_ms))
    return Decision(shard, now_ms).outcome(_read(shard, request, version))


def _as_message(outcome: Outcome[GroupRecord, M]) -> Outcome[GroupRecord, Message]:
    """The type of a reply is its own class; who takes any takes a message."""
    return outcome  # type: ignore[return-value]  # frozen, so nobody puts another message in


def _read(shard: GroupShard, request: Message, version: int) -> Message:
    match request:
        case OffsetFetchRequest():
            groups = [
                fetch_offsets(shard, group, version, require_stable=request.require_stable)
                for group in requested_groups(request, version)
            ]
            return offset_fetch_response(groups, version)
        case DescribeGroupsRequest():
            described = [describe_group(shard, group_id, version) for group_id in request.groups]
            return DescribeGroupsResponse(groups=described)
        case ListGroupsRequest():
            return ListGroupsResponse(groups=list_groups(shard, request))
    raise TypeError(f"{type(request).__name__} is no request to a group coordinator")


# Requests about groups of several shards


def only_group(request: Message, version: int) -> str | None:
    """The group that the request is about; None where it may be about none or several."""
    if not isinstance(request, _OF_GROUPS):
        group_id: str = request.group_id  # type: ignore[attr-defined]  # all others are about one group
        return group_id
    if isinstance(request, OffsetFetchRequest):
        if version < _MANY_GROUPS_FROM:
            return request.group_id
        if len(request.groups) == 1:
            return request.groups[0].group_id
    return None


def parts_by_partition(request: Message, version: int, partition_count: int) -> Mapping[int, Message]:
    """What is to be asked of each partition of __consumer_offsets."""
    group_id = only_group(request, version)
    if group_id is not None:
        return {partition_of_group(group_id, partition_count): request}
    match request:
        case ListGroupsRequest():
            return dict.fromkeys(range(partition_count), request)
        case DescribeGroupsRequest():
            by_partition = _by_partition(request.groups, partition_count)
            return {number: replace(request, groups=ids) for number, ids in by_partition.items()}
        case DeleteGroupsRequest():
            by_partition = _by_partition(request.groups_names, partition_count)
            return {number: replace(request, groups_names=ids) for number, ids in by_partition.items()}
        case OffsetFetchRequest():
            by_partition = _by_partition([group.group_id for group in request.groups], partition_count)
            return {
                number: replace(request, groups=[group for group in request.groups if group.group_id in ids])
                for number, ids in by_partition.items()
            }
    raise TypeError(f"{type(request).__name__} is about one group")


def merge_answers(request: Message, answers: Sequence[Message]) -> Message:
    """The answers to the parts of a request, as one. Where a partition is not led here, `refusal` answers its part; of
    ListGroups, whose error stands for all, such a part is left out."""
    if not answers:
        return APIS[request.__definition__.key].response()
    first, *rest = answers
    for answer in rest:
        match first, answer:
            case ListGroupsResponse(), ListGroupsResponse():
                first.error_code = first.error_code or answer.error_code
                first.groups += answer.groups
            case DescribeGroupsResponse(), DescribeGroupsResponse():
                first.groups += answer.groups
            case DeleteGroupsResponse(), DeleteGroupsResponse():
                first.results += answer.results
            case OffsetFetchResponse(), OffsetFetchResponse():
                first.groups += answer.groups
            case _:
                raise TypeError(f"{type(first).__name__} and {type(answer).__name__} are no parts of one answer")
    return first


def _by_partition(group_ids: Sequence[str], partition_count: int) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for group_id in group_ids:
        found.setdefault(partition_of_group(group_id, partition_count), []).append(group_id)
    return found
