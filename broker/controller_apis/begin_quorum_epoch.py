"""BeginQuorumEpoch, versions 0 and 1: somebody says that he leads the metadata log now. Only this node ever does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.metadata_quorum import (
    FIRST_WITH_ENDPOINTS,
    check_leader,
    check_voter_key,
    check_voters_request,
    metadata_partition,
)
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.begin_quorum_epoch import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    NodeEndpoint,
    PartitionData,
    ResponsePartitionData,
    ResponseTopicData,
)
from barnabas.storage.log_directory import METADATA_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: BeginQuorumEpochRequest) -> BeginQuorumEpochResponse:
    leader = node.metadata_leader
    if not leader.is_of_this_cluster(request.cluster_id):
        return BeginQuorumEpochResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    asked: PartitionData | None = metadata_partition(request.topics)
    if asked is None:
        return BeginQuorumEpochResponse(error_code=ErrorCode.INVALID_REQUEST)
    answer = ResponsePartitionData(
        partition_index=0,
        error_code=_refusal(node, request, asked),
        leader_id=leader.id,
        leader_epoch=leader.epoch,
    )
    response = BeginQuorumEpochResponse(topics=[ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[answer])])
    if call.version >= FIRST_WITH_ENDPOINTS:
        response.node_endpoints = leader.endpoints(NodeEndpoint, call.connection.listener)
    return response


def _refusal(node: Node, request: BeginQuorumEpochRequest, asked: PartitionData) -> ErrorCode:
    return (
        check_voters_request(node, asked.leader_id, asked.leader_epoch)
        or check_leader(node, asked.leader_id, asked.leader_epoch)
        or check_voter_key(node, request.voter_id, asked.voter_directory_id)
    )
