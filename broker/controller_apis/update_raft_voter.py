"""UpdateRaftVoter, version 0: a voter tells the leader where it listens. The only voter is the leader, which nobody has
to tell it; Apache Kafka stops in alarm if somebody does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.metadata_quorum import check_cluster, check_default_listener, check_voter
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.update_raft_voter import CurrentLeader, UpdateRaftVoterRequest, UpdateRaftVoterResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: UpdateRaftVoterRequest) -> UpdateRaftVoterResponse:
    leader = node.metadata_leader
    try:
        code = _refusal(node, request)
    except KafkaError as error:
        code = error.code
    current = CurrentLeader(leader_id=leader.id, leader_epoch=leader.epoch)
    for _, current.host, current.port in leader.endpoints(lambda *told: told, call.connection.listener):
        break
    return UpdateRaftVoterResponse(error_code=code, current_leader=current)


def _refusal(node: Node, request: UpdateRaftVoterRequest) -> ErrorCode:
    check_cluster(node, request.cluster_id)
    fenced = node.metadata_leader.check_epoch(request.current_leader_epoch)
    if fenced:
        return fenced
    check_voter(request.voter_id, request.voter_directory_id)
    check_default_listener(node, [each.name for each in request.listeners])
    low, high = (
        request.kraft_version_feature.min_supported_version,
        request.kraft_version_feature.max_supported_version,
    )
    if not 0 <= low <= node.journal.kraft_version <= high:
        return ErrorCode.INVALID_REQUEST
    ours = request.voter_id == node.node_id and (
        request.voter_directory_id == node.directory_id or node.journal.kraft_version < 1
    )
    return ErrorCode.INVALID_REQUEST if ours else ErrorCode.VOTER_NOT_FOUND
