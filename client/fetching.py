"""Batches of many partitions from one broker, as they lie in its log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.cluster import Cluster, Partition, check
from barnabas.protocol.apis import APIS
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from barnabas.protocol.schema import Uuid

__all__ = ["CONSUMER", "DEBUGGING_CONSUMER", "FetchFrom", "batches_of", "fetch"]

CONSUMER, DEBUGGING_CONSUMER = -1, -2
"""Any replica answers the latter, whoever leads."""

_FETCH = APIS[1]
_FIRST_WITH_STATE = 15
_FIRST_WITH_TOPIC_IDS = 13
_FIRST_WITH_EPOCHS = 12
_NO_EPOCH = -1


class FetchFrom(NamedTuple):
    partition: Partition
    topic_id: Uuid
    """Zero where brokers do not know of ids."""
    offset: int
    epoch: int = _NO_EPOCH
    """Of the last record that was fetched: a broker that has lost it says where its log took another way."""
    leader_epoch: int = _NO_EPOCH
    """Who leads or follows in another one refuses to answer."""


def fetch(
    cluster: Cluster,
    wanted: Iterable[FetchFrom],
    *,
    partition_bytes: int,
    answer_bytes: int,
    max_wait_ms: int,
    committed: bool = False,
    replica: int = CONSUMER,
    node_id: int | None = None,
) -> dict[Partition, PartitionData]:
    """Of that broker, or of any if the cluster is one broker. In the order of what is wanted, as far as there is room:
    the first partition that has anything gives a whole batch. KafkaError if it answers none."""
    asked = list(wanted)
    version = cluster.version_of(_FETCH)
    if any(each.topic_id == Uuid.ZERO for each in asked):
        version = min(version, _FIRST_WITH_TOPIC_IDS - 1)
    topics: list[FetchTopic] = []
    for partition, topic_id, offset, epoch, leader_epoch in asked:
        if not topics or topics[-1].topic != partition.topic:
            topics.append(FetchTopic(topic=partition.topic, topic_id=topic_id, partitions=[]))
        one = FetchPartition(partition=partition.number, fetch_offset=offset, partition_max_bytes=partition_bytes)
        one.current_leader_epoch = leader_epoch
        if version >= _FIRST_WITH_EPOCHS:
            one.last_fetched_epoch = epoch
        topics[-1].partitions.append(one)
    request = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max(answer_bytes, partition_bytes),
        isolation_level=int(committed),
        topics=topics,
    )
    if version >= _FIRST_WITH_STATE:
        request.replica_state = ReplicaState(replica_id=replica)
    else:
        request.replica_id = replica
    if node_id is None:
        answer = cluster.ask(request, FetchResponse, at_most=version)
    else:
        answer = cluster.ask_node(node_id, request, FetchResponse, at_most=version)
    check(answer.error_code)
    return _by_partition(answer, {each.topic_id: each.partition.topic for each in asked})


def _by_partition(answer: FetchResponse, names: Mapping[Uuid, str]) -> dict[Partition, PartitionData]:
    return {
        Partition(topic.topic or names[topic.topic_id], each.partition_index): each
        for topic in answer.responses
        for each in topic.partitions
    }


def batches_of(data: PartitionData, offset: int) -> list[Batch]:
    """The whole ones that reach to that offset or beyond. MalformedFrame where there are none."""
    records = data.records or b""
    assert isinstance(records, bytes | bytearray | memoryview), "what came is in memory"
    return [batch for batch in iterate_batches(records) if batch.last_offset >= offset]
