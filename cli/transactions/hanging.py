"""`transactions find-hanging`: open transactions that their coordinator will not end."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.cli.failures import WrongUsage
from barnabas.cli.output import Output, columns_of_kafka
from barnabas.cli.transactions.asking import describe, listed, producers
from barnabas.client.cluster import Cluster, Partition
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_producers import ProducerState

__all__ = ["Open", "find_hanging", "hanging_among"]

_HEADERS = (
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
)
_MINUTE_MS = 60_000


class Open(NamedTuple):
    partition: Partition
    producer: ProducerState


def find_hanging(cluster: Cluster, arguments: argparse.Namespace, output: Output) -> None:
    if arguments.topic is None and arguments.broker_id is None:
        raise WrongUsage("find-hanging has to look at every partition: name --topic or --broker-id")
    if arguments.partition is not None and arguments.topic is None:
        raise WrongUsage("--partition goes with --topic")
    now_ms = int(time.time() * 1000)
    longest_ms = arguments.max_transaction_timeout * _MINUTE_MS
    candidates = [
        Open(partition, each)
        for partition, states in producers(cluster, _partitions(cluster, arguments), arguments.broker_id).items()
        for each in states
        if each.current_txn_start_offset >= 0 and now_ms - each.last_timestamp > longest_ms
    ]
    found = hanging_among(candidates, _known(cluster, candidates)) if candidates else []
    rows = [_row(each, now_ms) for each in sorted(found, key=lambda one: (one.partition, one.producer.producer_id))]
    if output.as_json:
        names = ("topic", "partition", "producer_id", "producer_epoch", "coordinator_epoch", "start_offset")
        output.json([dict(zip((*names, "last_timestamp", "duration_min"), row, strict=True)) for row in rows])
    for line in columns_of_kafka(_HEADERS, rows):
        output.line(line)


def _row(each: Open, now_ms: int) -> list[object]:
    producer = each.producer
    return [
        *each.partition,
        producer.producer_id,
        producer.producer_epoch,
        producer.coordinator_epoch,
        producer.current_txn_start_offset,
        producer.last_timestamp,
        (now_ms - producer.last_timestamp) // _MINUTE_MS,
    ]


def _partitions(cluster: Cluster, arguments: argparse.Namespace) -> list[Partition]:
    if arguments.partition is not None:
        return [Partition(arguments.topic, arguments.partition)]
    topics = cluster.topics(None if arguments.topic is None else [arguments.topic])
    return [
        Partition(name, each.partition_index)
        for name, topic in sorted(topics.items())
        for each in topic.partitions
        if arguments.broker_id is None or arguments.broker_id in each.replica_nodes
    ]


def _known(cluster: Cluster, candidates: Iterable[Open]) -> dict[int, set[Partition]]:
    """By producer id, the partitions that its coordinator will still write to."""
    producer_ids = {each.producer.producer_id for each in candidates}
    known = {}
    for _, transaction in listed(cluster, producer_ids=producer_ids):
        try:
            _, state = describe(cluster, transaction.transactional_id)
        except KafkaError as error:
            if error.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise
            continue
        known[transaction.producer_id] = {
            Partition(topic.topic, number) for topic in state.topics for number in topic.partitions
        }
    return known


def hanging_among(candidates: Iterable[Open], known: Mapping[int, set[Partition]]) -> list[Open]:
    """Those whose coordinator knows nothing of the producer, or not that it writes to the partition."""
    return [each for each in candidates if each.partition not in known.get(each.producer.producer_id, set())]
