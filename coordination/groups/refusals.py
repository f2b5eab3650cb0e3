"""How each API says that a whole request is refused: Kafka has a shape of its own for each, by version.

The broker uses it for what is decided outside of this package: no authorization, not the coordinator, a log that is
still being loaded, an append that failed.
"""

from __future__ import annotations

from barnabas.coordination.groups.append_errors import error_of_append
from barnabas.coordination.groups.leave import leaving_members
from barnabas.coordination.groups.offset_fetch import group_error, offset_fetch_response, requested_groups
from barnabas.coordination.groups.rebalance import join_response
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from barnabas.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from barnabas.protocol.schema import Message

__all__ = [
    "refusal",
    "refusal_of_offset_commit",
    "refusal_of_txn_offset_commit",
]

_NO_COORDINATOR = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.REQUEST_TIMED_OUT,
)


def refusal(request: Message, version: int, error: ErrorCode) -> Message:
    """The answer to a request that was refused as a whole; `error` may be that of the failed append."""
    code = error_of_append(error)
    match request:
        case JoinGroupRequest():
            return join_response(version, JoinGroupResponse(error_code=code))
        case SyncGroupRequest():
            return SyncGroupResponse(error_code=code)
        case HeartbeatRequest():
            # While the log is loaded, nobody knows better than the member itself that it lives.
            loading = code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            return HeartbeatResponse(error_code=ErrorCode.NONE if loading else code)
        case LeaveGroupRequest():
            return _of_leave_group(request, version, code)
        case OffsetCommitRequest():
            return refusal_of_offset_commit(request, code)
        case TxnOffsetCommitRequest():
            return refusal_of_txn_offset_commit(request, code)
        case OffsetFetchRequest():
            # Consumers before 3.9 do not know what to do about COORDINATOR_NOT_AVAILABLE here.
            code = ErrorCode.NOT_COORDINATOR if error in _NO_COORDINATOR else code
            groups = [group_error(group, code, version) for group in requested_groups(request, version)]
            return offset_fetch_response(groups, version)
        case OffsetDeleteRequest():
            return OffsetDeleteResponse(error_code=code)
        case DescribeGroupsRequest():
            return DescribeGroupsResponse(
                groups=[DescribedGroup(group_id=group_id, error_code=code) for group_id in request.groups]
            )
        case ListGroupsRequest():
            return ListGroupsResponse(error_code=code)
        case DeleteGroupsRequest():
            return DeleteGroupsResponse(
                # A group that is named twice counts once.
                results=[
                    DeletableGroupResult(group_id=each, error_code=code) for each in dict.fromkeys(request.groups_names)
                ]
            )
    raise TypeError(f"{type(request).__name__} is no request to a group coordinator")


def refusal_of_offset_commit(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refusal_of_txn_offset_commit(request: TxnOffsetCommitRequest, code: ErrorCode) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _of_leave_group(request: LeaveGroupRequest, version: int, code: ErrorCode) -> LeaveGroupResponse:
    if code != ErrorCode.UNKNOWN_MEMBER_ID or version < 3:
        return LeaveGroupResponse(error_code=code)
    return LeaveGroupResponse(
        members=[
            MemberResponse(member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=code)
            for each in leaving_members(request, version)
        ]
    )
