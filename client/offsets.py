"""Where partitions begin and end, which offset a moment has, and records deleted up to one. For each partition there
is an answer or an error: one that has no leader does not stand in the way of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.cluster import Cluster, Partition
from barnabas.client.errors import NotOffered
from barnabas.client.spreading import ask_leaders, error_of
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

__all__ = [
    "EARLIEST",
    "EARLIEST_LOCAL",
    "EARLIEST_PENDING_UPLOAD",
    "LATEST",
    "LATEST_TIERED",
    "MAX_TIMESTAMP",
    "FoundOffset",
    "by_topic",
    "delete_records",
    "list_offsets",
]

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = range(-1, -7, -1)
"""What may be asked for instead of a timestamp."""

UNKNOWN = -1
"""The offset that stands for: there is none."""

_LIST_OFFSETS = APIS[2]
_FIRST_VERSION_WITH = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
_ANY_CONSUMER = -1
_NAMES = {
    MAX_TIMESTAMP: "the largest timestamp",
    EARLIEST_LOCAL: "the earliest local offset",
    LATEST_TIERED: "the latest tiered offset",
    EARLIEST_PENDING_UPLOAD: "the earliest offset that waits for its upload",
}


class FoundOffset(NamedTuple):
    offset: int
    """-1: there is none, such as a record that young."""
    timestamp: int
    leader_epoch: int


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[Partition]]:
    found: dict[str, list[Partition]] = {}
    for partition in partitions:
        found.setdefault(partition.topic, []).append(partition)
    return found


def list_offsets(
    cluster: Cluster, wanted: Mapping[Partition, int], *, committed: bool = False, patient: bool = True
) -> dict[Partition, FoundOffset | KafkaError]:
    """The first offset at that timestamp or behind it, or what LATEST and the like name. LATEST is the high watermark;
    `committed`: the last stable offset. NotOffered if the brokers are too old for what is asked. `patient`: wait a
    moment for those that have no leader or are not there."""
    if wanted:
        _check_offered(cluster, set(wanted.values()))

    def ask(node_id: int, partitions: list[Partition]) -> dict[Partition, FoundOffset | KafkaError]:
        topics = [
            ListOffsetsTopic(
                name=topic,
                partitions=[ListOffsetsPartition(partition_index=each.number, timestamp=wanted[each]) for each in own],
            )
            for topic, own in by_topic(partitions).items()
        ]
        request = ListOffsetsRequest(
            replica_id=_ANY_CONSUMER,
            isolation_level=int(committed),
            topics=topics,
            timeout_ms=int(cluster.timeout_s * 1000),
        )
        return {
            Partition(topic.name, each.partition_index): error_of(each.error_code)
            or FoundOffset(each.offset, each.timestamp, each.leader_epoch)
            for topic in cluster.ask_node(node_id, request, ListOffsetsResponse).topics
            for each in topic.partitions
        }

    return ask_leaders(cluster, wanted, ask, patient=patient)


def _check_offered(cluster: Cluster, timestamps: set[int]) -> None:
    version = cluster.version_of(_LIST_OFFSETS)
    for timestamp in timestamps:
        if version < _FIRST_VERSION_WITH.get(timestamp, 0):
            raise NotOffered(f"The brokers are too old to be asked for {_NAMES[timestamp]}.")


def delete_records(cluster: Cluster, before: Mapping[Partition, int]) -> dict[Partition, int | KafkaError]:
    """All before that offset, -1 for all there are; where the partition begins then."""

    def ask(node_id: int, partitions: list[Partition]) -> dict[Partition, int | KafkaError]:
        topics = [
            DeleteRecordsTopic(
                name=topic,
                partitions=[DeleteRecordsPartition(partition_index=each.number, offset=before[each]) for each in own],
            )
            for topic, own in by_topic(partitions).items()
        ]
        request = DeleteRecordsRequest(topics=topics, timeout_ms=int(cluster.timeout_s * 1000))
        return {
            Partition(topic.name, each.partition_index): error_of(each.error_code) or each.low_watermark
            for topic in cluster.ask_node(node_id, request, DeleteRecordsResponse).topics
            for each in topic.partitions
        }

    return ask_leaders(cluster, before, ask)
