"""What a reassignment asks the cluster: what moves now, where replicas are, in which directories they lie."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.cli.cluster.reassign.plan import Replica
from barnabas.client.cluster import Cluster, Partition, check
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from barnabas.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)

__all__ = ["Directories", "Moving", "by_topic", "current_replicas", "directories_of", "known_brokers", "moving"]


class Moving(NamedTuple):
    """A partition whose replicas are being moved."""

    replicas: list[int]
    adding: list[int]
    removing: list[int]


class Directories(NamedTuple):
    """Of a replica: where it lies, and where it is being moved to."""

    current: str | None
    future: str | None


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        topics.setdefault(topic, []).append(number)
    return topics


def moving(cluster: Cluster, partitions: Iterable[Partition] | None = None) -> dict[Partition, Moving]:
    """Of these, or of all."""
    topics = None
    if partitions is not None:
        topics = [
            ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers)
            for name, numbers in by_topic(partitions).items()
        ]
    request = ListPartitionReassignmentsRequest(topics=topics, timeout_ms=int(cluster.timeout_s * 1000))
    answer = cluster.ask_controller(request, ListPartitionReassignmentsResponse)
    check(answer.error_code, answer.error_message)
    return {
        Partition(topic.name, each.partition_index): Moving(each.replicas, each.adding_replicas, each.removing_replicas)
        for topic in answer.topics
        for each in topic.partitions
    }


def current_replicas(cluster: Cluster, topics: Iterable[str], *, must_be: bool = True) -> dict[Partition, list[int]]:
    """Of all partitions of the topics; a topic that is not there is an error, or has none."""
    wanted = sorted(set(topics))
    if not wanted:
        return {}
    found = {}
    for topic in cluster.metadata(wanted).topics:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not must_be:
            continue
        check(topic.error_code, f"topic {topic.name}")
        assert topic.name is not None
        for each in topic.partitions:
            found[Partition(topic.name, each.partition_index)] = each.replica_nodes
    return found


def known_brokers(cluster: Cluster) -> dict[int, str | None]:
    """Ids with racks."""
    return {node.node_id: node.rack for node in cluster.nodes}


def directories_of(cluster: Cluster, replicas: Iterable[Replica]) -> dict[Replica, Directories]:
    """As their brokers say; one that is not there has none, and those of a broker that is not in service are left out.
    A broker that cannot be asked is an error."""
    wanted: dict[int, list[Partition]] = {}
    in_service = known_brokers(cluster)
    for node_id, topic, number in replicas:
        if node_id in in_service:
            wanted.setdefault(node_id, []).append(Partition(topic, number))
    found: dict[Replica, Directories] = {}
    for node_id, partitions in sorted(wanted.items()):
        for partition, directories in _directories_at(cluster, node_id, partitions).items():
            found[Replica(node_id, *partition)] = directories
    return found


def _directories_at(cluster: Cluster, node_id: int, partitions: list[Partition]) -> dict[Partition, Directories]:
    topics = [DescribableLogDirTopic(topic=name, partitions=numbers) for name, numbers in by_topic(partitions).items()]
    answer = cluster.ask_node(node_id, DescribeLogDirsRequest(topics=topics), DescribeLogDirsResponse)
    check(answer.error_code)
    found = dict.fromkeys(partitions, Directories(None, None))
    for directory in answer.results:
        if directory.error_code == ErrorCode.KAFKA_STORAGE_ERROR:
            continue
        check(directory.error_code, directory.log_dir)
        for topic in directory.topics:
            for each in topic.partitions:
                partition = Partition(topic.name, each.partition_index)
                before = found.get(partition, Directories(None, None))
                path = directory.log_dir
                found[partition] = before._replace(future=path) if each.is_future_key else before._replace(current=path)
    return found
