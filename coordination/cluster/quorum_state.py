"""The file quorum-state: for whom this node voted, and whom it takes for the leader. One line of JSON."""

from __future__ import annotations

import json
from typing import Any

from barnabas.protocol.records.quorum_state import QuorumStateData, Voter
from barnabas.protocol.schema import Uuid

__all__ = ["QUORUM_STATE", "decode_quorum_state", "encode_quorum_state"]

QUORUM_STATE = "quorum-state"


def encode_quorum_state(state: QuorumStateData, version: int) -> bytes:
    """Version 0 where kraft.version is 0, version 1 where it is 1."""
    fields: dict[str, Any] = {}
    if version == 0:
        fields["clusterId"] = state.cluster_id
    fields |= {"leaderId": state.leader_id, "leaderEpoch": state.leader_epoch, "votedId": state.voted_id}
    if version == 0:
        voters = state.current_voters
        fields["appliedOffset"] = state.applied_offset
        fields["currentVoters"] = None if voters is None else [{"voterId": voter.voter_id} for voter in voters]
    elif version == 1:
        fields["votedDirectoryId"] = str(state.voted_directory_id)
    else:
        raise ValueError(f"quorum-state has the versions 0 and 1, not {version}")
    return json.dumps({**fields, "data_version": version}, separators=(",", ":")).encode()


def decode_quorum_state(data: bytes) -> tuple[QuorumStateData, int]:
    """The state and its version; ValueError if this is none, with what to do about it."""
    try:
        fields = json.loads(data.split(b"\n", 1)[0])
        return _decode(fields), fields["data_version"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"the file {QUORUM_STATE} cannot be read ({error!r}): if this node is the only one that votes, "
            "delete the file, and it votes for itself again"
        ) from None


def _decode(fields: dict[str, Any]) -> QuorumStateData:
    version = fields["data_version"]
    if version not in (0, 1):
        raise ValueError(f"data_version is {version}, neither 0 nor 1")
    state = QuorumStateData(
        leader_id=int(fields["leaderId"]), leader_epoch=int(fields["leaderEpoch"]), voted_id=int(fields["votedId"])
    )
    if version == 1:
        state.voted_directory_id = Uuid.parse(fields["votedDirectoryId"])
        return state
    voters = fields["currentVoters"]
    state.cluster_id = fields["clusterId"]
    state.applied_offset = int(fields["appliedOffset"])
    state.current_voters = None if voters is None else [Voter(voter_id=int(voter["voterId"])) for voter in voters]
    return state
