"""What requests about the quorum have in common, asked of one who leads alone.

Nobody else votes here, so that whoever comes with a higher epoch is of another quorum, or was misled: he gets no vote,
and nothing changes. Apache Kafka would resign, follow him, or stop in alarm, and be elected anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.schema import Uuid
from barnabas.storage.log_directory import METADATA_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = [
    "FIRST_WITH_ENDPOINTS",
    "check_cluster",
    "check_default_listener",
    "check_leader",
    "check_voter",
    "check_voter_key",
    "check_voters_request",
    "metadata_partition",
]

FIRST_WITH_ENDPOINTS = 1
"""Of Vote, BeginQuorumEpoch and EndQuorumEpoch."""

# Elections


def metadata_partition(topics: Iterable[Any]) -> Any:
    """What the request says of the partition of the metadata; None if of anything else, too, or of nothing."""
    asked = [(topic.topic_name, one) for topic in topics for one in topic.partitions]
    if len(asked) != 1 or asked[0][0] != METADATA_TOPIC or asked[0][1].partition_index != 0:
        return None
    return asked[0][1]


def check_voters_request(node: Node, sender_id: int, epoch: int) -> ErrorCode:
    if epoch < node.metadata_leader.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.INVALID_REQUEST if sender_id < 0 else ErrorCode.NONE


def check_voter_key(node: Node, voter_id: int, directory_id: Uuid) -> ErrorCode:
    """Whether the request is meant for this node; whoever sends it need not know its directory, nor its id."""
    if voter_id < 0 or (voter_id == node.node_id and directory_id in (Uuid.ZERO, node.directory_id)):
        return ErrorCode.NONE
    return ErrorCode.INVALID_VOTER_KEY


def check_leader(node: Node, leader_id: int, epoch: int) -> ErrorCode:
    """Somebody says who leads in which epoch."""
    leader = node.metadata_leader
    return ErrorCode.NONE if (leader_id, epoch) == (leader.id, leader.epoch) else ErrorCode.INCONSISTENT_VOTER_SET


# Who votes


def check_cluster(node: Node, cluster_id: str | None) -> None:
    if not node.metadata_leader.is_of_this_cluster(cluster_id):
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, f"This is cluster {node.cluster_id}, and not {cluster_id}.")


def check_voter(voter_id: int, directory_id: Uuid) -> None:
    if voter_id < 0 or directory_id == Uuid.ZERO:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A voter has a node id, and a directory id.")


def check_default_listener(node: Node, listeners: Iterable[str]) -> None:
    """Other controllers have to find it by that one."""
    names = node.config.values["controller.listener.names"]
    if names and names[0].upper() not in map(str.upper, listeners):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"A voter has an address for the listener {names[0]}.")
