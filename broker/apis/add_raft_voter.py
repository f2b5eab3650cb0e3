"""AddRaftVoter, versions 0 and 1: a controller wants to vote for the leader of the metadata. None can, yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.metadata_quorum import check_cluster, check_default_listener, check_voter
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, _call: Call, request: AddRaftVoterRequest) -> AddRaftVoterResponse:
    check_cluster(node, request.cluster_id)
    check_voter(request.voter_id, request.voter_directory_id)
    check_default_listener(node, [each.name for each in request.listeners])
    if request.voter_id == node.node_id and node.journal.kraft_version >= 1:
        raise KafkaError(ErrorCode.DUPLICATE_VOTER, f"Node {node.node_id} votes already.")
    raise KafkaError(
        ErrorCode.UNSUPPORTED_VERSION,
        f"Node {node.node_id} is a quorum of one, and Barnabas takes no other voters in yet: "
        f"let node {request.voter_id} follow the metadata without a vote.",
    )


def refused(_call: Call, _request: AddRaftVoterRequest, error: KafkaError) -> AddRaftVoterResponse:
    return AddRaftVoterResponse(error_code=error.code, error_message=error.message or None)
