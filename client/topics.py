"""What a cluster tells of its topics: partitions and replicas, and how large the logs are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from barnabas.client.cluster import Cluster, Partition, check
from barnabas.client.errors import ClientError, NotOffered
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from barnabas.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from barnabas.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
)
from barnabas.protocol.schema import Uuid

__all__ = [
    "INTERNAL_TOPICS",
    "PARTITIONS_AT_ONCE",
    "LogSize",
    "PartitionState",
    "TopicState",
    "describe_topics",
    "describe_topics_by_id",
    "log_sizes",
    "reassignments",
]

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
PARTITIONS_AT_ONCE = 2000
"""Of all topics together in one answer, as Kafka's own client asks for."""

_DESCRIBE_TOPIC_PARTITIONS = 75
_NOBODY = -1


class PartitionState(NamedTuple):
    number: int
    leader: int | None
    replicas: Sequence[int]
    isr: Sequence[int]
    elr: Sequence[int] | None
    """Eligible leader replicas; None from brokers that do not tell."""
    last_known_elr: Sequence[int] | None
    offline: Sequence[int]


class TopicState(NamedTuple):
    name: str
    topic_id: Uuid
    internal: bool
    partitions: list[PartitionState]


class LogSize(NamedTuple):
    """Of one replica's log."""

    size_bytes: int
    offset_lag: int
    """How far it is behind what the partition has committed."""


def describe_topics(
    cluster: Cluster, names: Iterable[str], partitions_at_once: int = PARTITIONS_AT_ONCE
) -> list[TopicState]:
    """In the order of their names; KafkaError for one that is not there."""
    wanted = sorted(set(names))
    if not wanted:
        return []
    if _DESCRIBE_TOPIC_PARTITIONS not in cluster.offered:
        return _from_metadata(cluster, wanted)
    found: dict[str, TopicState] = {}
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in wanted], response_partition_limit=partitions_at_once
    )
    while True:
        answer = cluster.ask(request, DescribeTopicPartitionsResponse)
        for topic in answer.topics:
            check(topic.error_code, f"topic {topic.name}")
            assert topic.name is not None
            state = found.setdefault(topic.name, TopicState(topic.name, topic.topic_id, topic.is_internal, []))
            state.partitions.extend(
                PartitionState(
                    each.partition_index,
                    _leader(each.leader_id),
                    each.replica_nodes,
                    each.isr_nodes,
                    each.eligible_leader_replicas,
                    each.last_known_elr,
                    each.offline_replicas,
                )
                for each in topic.partitions
            )
        if answer.next_cursor is None:
            return [found[name] for name in sorted(found)]
        # A page may end within a topic, whose other partitions the next one has.
        request.cursor = Cursor(answer.next_cursor.topic_name, answer.next_cursor.partition_index)


def describe_topics_by_id(cluster: Cluster, topic_ids: Iterable[Uuid]) -> list[TopicState]:
    """Those of them that are there."""
    wanted = set(topic_ids)
    return _from_metadata(cluster, [name for name, topic in cluster.topics().items() if topic.topic_id in wanted])


def _from_metadata(cluster: Cluster, names: Sequence[str]) -> list[TopicState]:
    if not names:
        return []
    return [
        TopicState(
            name,
            topic.topic_id,
            topic.is_internal,
            [
                PartitionState(
                    each.partition_index,
                    _leader(each.leader_id),
                    each.replica_nodes,
                    each.isr_nodes,
                    None,
                    None,
                    each.offline_replicas,
                )
                for each in sorted(topic.partitions, key=lambda partition: partition.partition_index)
            ],
        )
        for name, topic in sorted(cluster.topics(names).items())
    ]


def _leader(node_id: int) -> int | None:
    return None if node_id == _NOBODY else node_id


def reassignments(cluster: Cluster) -> dict[Partition, OngoingPartitionReassignment]:
    """Those under way. None where the broker does not tell, or not this user."""
    request = ListPartitionReassignmentsRequest(timeout_ms=int(cluster.timeout_s * 1000))
    try:
        answer = cluster.ask_controller(request, ListPartitionReassignmentsResponse)
        check(answer.error_code, answer.error_message)
    except NotOffered:
        return {}
    except KafkaError as error:
        if error.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return {}
        raise
    return {
        Partition(topic.name, partition.partition_index): partition
        for topic in answer.topics
        for partition in topic.partitions
    }


def log_sizes(cluster: Cluster, topics: Iterable[TopicState]) -> dict[tuple[Partition, int], LogSize]:
    """By partition and broker. What a broker does not tell, or not this user, is left out: a size is good to know, and
    no reason to tell nothing else."""
    asked: dict[int, list[DescribableLogDirTopic]] = {}
    live = {node.node_id for node in cluster.nodes}
    for topic in topics:
        for node_id in live.intersection(*[{node for each in topic.partitions for node in each.replicas}]):
            numbers = [each.number for each in topic.partitions if node_id in each.replicas]
            asked.setdefault(node_id, []).append(DescribableLogDirTopic(topic=topic.name, partitions=numbers))
    found: dict[tuple[Partition, int], LogSize] = {}
    for node_id, wanted in asked.items():
        with suppress(ClientError):
            answer = cluster.ask_node(node_id, DescribeLogDirsRequest(topics=wanted), DescribeLogDirsResponse)
            for directory in answer.results:
                for each in directory.topics:
                    for log in each.partitions:
                        if not log.is_future_key:
                            at = Partition(each.name, log.partition_index), node_id
                            found[at] = LogSize(log.partition_size, log.offset_lag)
    return found
