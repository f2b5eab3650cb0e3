"""How each API says an error, at each of its versions: for errors that a test asks for.

Most files of broker/apis say it themselves; here are those that never refuse a whole request, or would say another code
than the one that is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from barnabas.broker.apis import MODULES
from barnabas.broker.call import Call
from barnabas.coordination.groups import refusal
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.schema import Message
from barnabas.testing.message_parts import error_codes, exchange_error_code

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["answer_with"]

_UNDECIDED = ErrorCode.UNKNOWN_SERVER_ERROR
"""Group coordinators pass it on as it is."""
_FIRST_WITH_COORDINATORS = 4
_FIRST_WITH_ERROR_OF_ALL_DIRECTORIES = 3


def answer_with(node: Node, call: Call, request: Any, code: ErrorCode) -> Message:
    """The request is not carried out, but for Metadata, whose answer has to say where the brokers are. For Produce and
    Fetch of several topics see refused_parts.py."""
    own = _OWN.get(call.api.name)
    if own is not None:
        return own(node, call, request, code)
    error = KafkaError(code, f"the test asked for {code.name}")
    refused = getattr(import_module(f"barnabas.broker.apis.{MODULES[call.api.key]}"), "refused", None)
    if refused is not None:
        answer: Message = refused(call, request, error)
        return answer
    if call.api.name in _GROUPS:
        return _of_coordinator(call, request, code)
    answer = call.api.response()
    answer.error_code = code  # type: ignore[attr-defined]  # all others have one of the whole
    if any(field.name == "error_message" for field in answer.__fields__):
        answer.error_message = str(error)  # type: ignore[attr-defined]
    return answer


# Groups

_GROUPS = frozenset(
    {
        "DeleteGroups",
        "DescribeGroups",
        "Heartbeat",
        "JoinGroup",
        "LeaveGroup",
        "ListGroups",
        "OffsetCommit",
        "OffsetDelete",
        "OffsetFetch",
        "SyncGroup",
    }
)


def _of_coordinator(call: Call, request: Message, code: ErrorCode) -> Message:
    """A coordinator has other words for some codes, which are put back."""
    answer = refusal(request, call.version, code)
    if code not in error_codes(answer):
        answer = refusal(request, call.version, _UNDECIDED)
        exchange_error_code(answer, _UNDECIDED, code)
    return answer


# Those that say it in a way of their own


def _api_versions(_node: Node, call: Call, _request: Message, code: ErrorCode) -> Message:
    from barnabas.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse

    answer = ApiVersionsResponse(error_code=code)
    if code == ErrorCode.UNSUPPORTED_VERSION:
        # As Kafka, which says it so that every client can read it and ask again.
        call.version = 0
        answer.api_keys = [
            ApiVersion(api_key=call.api.key, min_version=call.api.first, max_version=call.api.last_stable)
        ]
    return answer


def _metadata(node: Node, call: Call, request: Any, code: ErrorCode) -> Message:
    """Brokers are told as always: without them a client is lost, and Kafka never does that."""
    from barnabas.broker.apis.metadata import handle

    answer = handle(node, call, request)
    if code == ErrorCode.REBOOTSTRAP_REQUIRED:
        answer.error_code = code
        return answer
    for topic in answer.topics:
        topic.error_code = code
        topic.partitions = []
    return answer


def _find_coordinator(_node: Node, call: Call, request: Any, code: ErrorCode) -> Message:
    from barnabas.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse

    if call.version >= _FIRST_WITH_COORDINATORS:
        keys = request.coordinator_keys
        return FindCoordinatorResponse(
            coordinators=[Coordinator(key=key, node_id=-1, port=-1, error_code=code, error_message="") for key in keys]
        )
    return FindCoordinatorResponse(error_code=code, error_message=code.name, node_id=-1, port=-1)


def _delete_records(_node: Node, _call: Call, request: Any, code: ErrorCode) -> Message:
    from barnabas.protocol.messages.delete_records import (
        DeleteRecordsPartitionResult,
        DeleteRecordsResponse,
        DeleteRecordsTopicResult,
    )

    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    DeleteRecordsPartitionResult(partition_index=one.partition_index, low_watermark=-1, error_code=code)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _offset_for_leader_epoch(_node: Node, _call: Call, request: Any, code: ErrorCode) -> Message:
    from barnabas.protocol.messages.offset_for_leader_epoch import (
        EpochEndOffset,
        OffsetForLeaderEpochResponse,
        OffsetForLeaderTopicResult,
    )

    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[EpochEndOffset(partition=one.partition, error_code=code) for one in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _describe_log_dirs(node: Node, call: Call, _request: Message, code: ErrorCode) -> Message:
    from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsResponse, DescribeLogDirsResult

    if call.version >= _FIRST_WITH_ERROR_OF_ALL_DIRECTORIES:
        return DescribeLogDirsResponse(error_code=code)
    return DescribeLogDirsResponse(
        results=[DescribeLogDirsResult(error_code=code, log_dir=path) for path in node.config.log_dirs]
    )


def _describe_producers(_node: Node, _call: Call, request: Any, code: ErrorCode) -> Message:
    from barnabas.protocol.messages.describe_producers import (
        DescribeProducersResponse,
        PartitionResponse,
        TopicResponse,
    )

    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    PartitionResponse(partition_index=number, error_code=code) for number in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _create_acls(_node: Node, _call: Call, request: Any, code: ErrorCode) -> Message:
    from barnabas.protocol.messages.create_acls import AclCreationResult, CreateAclsResponse

    return CreateAclsResponse(
        results=[AclCreationResult(error_code=code, error_message=None) for _ in request.creations]
    )


def _delete_acls(_node: Node, _call: Call, request: Any, code: ErrorCode) -> Message:
    from barnabas.protocol.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsResponse

    return DeleteAclsResponse(
        filter_results=[DeleteAclsFilterResult(error_code=code, error_message=None) for _ in request.filters]
    )


_OWN = {
    "ApiVersions": _api_versions,
    "CreateAcls": _create_acls,
    "DeleteAcls": _delete_acls,
    "DeleteRecords": _delete_records,
    "DescribeLogDirs": _describe_log_dirs,
    "DescribeProducers": _describe_producers,
    "FindCoordinator": _find_coordinator,
    "Metadata": _metadata,
    "OffsetForLeaderEpoch": _offset_for_leader_epoch,
}
