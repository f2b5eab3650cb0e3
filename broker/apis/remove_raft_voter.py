"""RemoveRaftVoter, version 0: a controller shall vote no more. The only voter stays: there is no quorum of none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.metadata_quorum import check_cluster, check_voter
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, _call: Call, request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
    check_cluster(node, request.cluster_id)
    check_voter(request.voter_id, request.voter_directory_id)
    if node.journal.kraft_version < 1:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION, "controller.quorum.voters says who votes, and kraft.version is 0."
        )
    raise KafkaError(
        ErrorCode.VOTER_NOT_FOUND,
        f"Node {node.node_id} with directory {node.directory_id} is the only voter, and stays it.",
    )


def refused(_call: Call, _request: RemoveRaftVoterRequest, error: KafkaError) -> RemoveRaftVoterResponse:
    return RemoveRaftVoterResponse(error_code=error.code, error_message=error.message or None)
