"""Vote, versions 0 to 2: somebody wants to lead the metadata log. He does not get the vote of the leader there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.metadata_quorum import (
    FIRST_WITH_ENDPOINTS,
    check_voter_key,
    check_voters_request,
    metadata_partition,
)
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.vote import (
    NodeEndpoint,
    PartitionData,
    ResponsePartitionData,
    ResponseTopicData,
    VoteRequest,
    VoteResponse,
)
from barnabas.storage.log_directory import METADATA_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: VoteRequest) -> VoteResponse:
    leader = node.metadata_leader
    if not leader.is_of_this_cluster(request.cluster_id):
        return VoteResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    asked: PartitionData | None = metadata_partition(request.topics)
    if asked is None:
        return VoteResponse(error_code=ErrorCode.INVALID_REQUEST)
    answer = ResponsePartitionData(
        partition_index=0,
        error_code=_refusal(node, request, asked),
        leader_id=leader.id,
        leader_epoch=leader.epoch,
        vote_granted=False,
    )
    response = VoteResponse(topics=[ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[answer])])
    if call.version >= FIRST_WITH_ENDPOINTS:
        response.node_endpoints = leader.endpoints(NodeEndpoint, call.connection.listener)
    return response


def _refusal(node: Node, request: VoteRequest, asked: PartitionData) -> ErrorCode:
    """A candidate has begun an epoch of his own, and one who only asks whether he could win has not."""
    highest = asked.replica_epoch if asked.pre_vote else asked.replica_epoch - 1
    if asked.last_offset < 0 or not 0 <= asked.last_offset_epoch <= highest:
        return ErrorCode.INVALID_REQUEST
    wrong = check_voters_request(node, asked.replica_id, asked.replica_epoch) or check_voter_key(
        node, request.voter_id, asked.voter_directory_id
    )
    if not wrong and asked.replica_epoch > node.metadata_leader.epoch:
        return ErrorCode.INCONSISTENT_VOTER_SET
    return wrong
