"""FetchSnapshot, versions 0 and 1: a piece of a snapshot of the metadata, from a position on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.cluster.snapshot_file import SnapshotId as KnownSnapshot
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionSnapshot,
    ResponsePartitionSnapshot,
    ResponseTopicSnapshot,
    SnapshotId,
)
from barnabas.storage.file_slice import FileSlice
from barnabas.storage.log_directory import METADATA_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.node import Node

_FIRST_WITH_ENDPOINTS = 1


def handle(node: Node, call: Call, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
    if not node.metadata_leader.is_of_this_cluster(request.cluster_id):
        return FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    asked = [(topic.name, one) for topic in request.topics for one in topic.partitions]
    if not asked:
        return FetchSnapshotResponse(error_code=ErrorCode.INVALID_REQUEST)
    for name, one in asked:
        if (name, one.partition) == (METADATA_TOPIC, 0):
            return _response(node, call, METADATA_TOPIC, _piece(node, one, request.max_bytes))
    name, one = asked[0]
    unknown = ResponsePartitionSnapshot(
        index=one.partition, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, unaligned_records=b""
    )
    return _response(node, call, name, unknown)


def refused(_call: Call, _request: FetchSnapshotRequest, error: KafkaError) -> FetchSnapshotResponse:
    return FetchSnapshotResponse(error_code=error.code)


def _piece(node: Node, asked: PartitionSnapshot, max_bytes: int) -> ResponsePartitionSnapshot:
    leader = node.metadata_leader
    answer = ResponsePartitionSnapshot(
        index=0, current_leader=LeaderIdAndEpoch(leader.id, leader.epoch), unaligned_records=b""
    )
    answer.error_code = leader.check_epoch(asked.current_leader_epoch)
    if answer.error_code:
        return answer
    snapshot_id = KnownSnapshot(asked.snapshot_id.end_offset, asked.snapshot_id.epoch)
    file = leader.open_snapshot(snapshot_id)
    if file is None:
        answer.error_code = ErrorCode.SNAPSHOT_NOT_FOUND
        return answer
    size = file.size()
    if not 0 <= asked.position < size:
        answer.error_code = ErrorCode.POSITION_OUT_OF_RANGE
        return answer
    answer.snapshot_id = SnapshotId(*snapshot_id)
    answer.size, answer.position = size, asked.position
    answer.unaligned_records = FileSlice(file, asked.position, min(max(max_bytes, 0), size - asked.position))
    return answer


def _response(node: Node, call: Call, topic: str, answer: ResponsePartitionSnapshot) -> FetchSnapshotResponse:
    response = FetchSnapshotResponse(topics=[ResponseTopicSnapshot(name=topic, partitions=[answer])])
    if call.version >= _FIRST_WITH_ENDPOINTS:
        response.node_endpoints = node.metadata_leader.endpoints(NodeEndpoint, call.connection.listener)
    return response
