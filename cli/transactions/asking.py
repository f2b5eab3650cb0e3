"""What is asked of the cluster about transactions: their coordinators, and the leaders of their partitions."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.client.cluster import TRANSACTION, Cluster, Partition, check
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from barnabas.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from barnabas.protocol.messages.list_transactions import TransactionState as Listed
from barnabas.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

__all__ = ["abort", "describe", "listed", "producers"]

_DESCRIBE_TRANSACTIONS, _LIST_TRANSACTIONS = APIS[65], APIS[66]
_HAS_DURATION, _HAS_PATTERN = 1, 2
_BATCH = 500
"""Partitions in one request, as Kafka's tool asks."""


def listed(
    cluster: Cluster,
    *,
    duration_ms: int | None = None,
    pattern: str | None = None,
    producer_ids: Iterable[int] = (),
) -> list[tuple[int, Listed]]:
    """With the coordinator of each: every broker is asked for its own."""
    version = cluster.version_of(_LIST_TRANSACTIONS)
    for name, given, needed in (
        ("duration", duration_ms, _HAS_DURATION),
        ("transactional id", pattern, _HAS_PATTERN),
    ):
        if given is not None and version < needed:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"the brokers are too old to filter by {name}")
    request = ListTransactionsRequest(
        state_filters=[],
        producer_id_filters=sorted(producer_ids),
        duration_filter=-1 if duration_ms is None else duration_ms,
        transactional_id_pattern=pattern,
    )
    found = []
    for node in cluster.nodes:
        answer = cluster.ask_node(node.node_id, request, ListTransactionsResponse)
        check(answer.error_code)
        found += [(node.node_id, each) for each in answer.transaction_states]
    return sorted(found, key=lambda row: (row[0], row[1].transactional_id))


def describe(cluster: Cluster, transactional_id: str) -> tuple[int, TransactionState]:
    """With its coordinator."""
    cluster.version_of(_DESCRIBE_TRANSACTIONS)  # What is not offered is said of it, and not of who coordinates.

    def ask() -> tuple[int, TransactionState]:
        node_id = cluster.coordinator_of(transactional_id, TRANSACTION)
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        (state,) = cluster.ask_node(node_id, request, DescribeTransactionsResponse).transaction_states
        check(state.error_code)
        return node_id, state

    return cluster.retry(ask)


def producers(
    cluster: Cluster, partitions: Iterable[Partition], broker_id: int | None = None
) -> dict[Partition, list[ProducerState]]:
    """As the leaders know them, or that broker."""
    wanted = list(partitions)
    cluster.by_leader(wanted)  # What is not there is not waited for.

    def ask() -> dict[Partition, list[ProducerState]]:
        led = {broker_id: wanted} if broker_id is not None else cluster.by_leader(wanted)
        found = {}
        for node_id, there in led.items():
            for start in range(0, len(there), _BATCH):
                found.update(_producers_at(cluster, node_id, there[start : start + _BATCH]))
        return found

    return cluster.retry(ask)


def _producers_at(cluster: Cluster, node_id: int, partitions: list[Partition]) -> dict[Partition, list[ProducerState]]:
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
    )
    answer = cluster.ask_node(node_id, request, DescribeProducersResponse)
    found = {}
    for topic_answer in answer.topics:
        for each in topic_answer.partitions:
            partition = Partition(topic_answer.name, each.partition_index)
            check(each.error_code, each.error_message or f"partition {partition}")
            found[partition] = each.active_producers
    return found


def abort(cluster: Cluster, partition: Partition, producer_id: int, epoch: int, coordinator_epoch: int) -> None:
    """By a marker in the partition itself, past the coordinator, who has forgotten it."""
    topic = WritableTxnMarkerTopic(name=partition.topic, partition_indexes=[partition.number])
    marker = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=False,
        topics=[topic],
        coordinator_epoch=coordinator_epoch,
    )

    cluster.by_leader([partition])

    def ask() -> None:
        (leader,) = cluster.by_leader([partition])
        answer = cluster.ask_node(leader, WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse)
        for written in answer.markers:
            for topic_answer in written.topics:
                for each in topic_answer.partitions:
                    check(each.error_code, f"partition {partition}")

    cluster.retry(ask)
