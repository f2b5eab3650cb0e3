"""A broker in this process, and what the source's tests do with its topics beside reading them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.client.address import parse_bootstrap
from barnabas.client.cluster import Cluster, Partition, check
from barnabas.client.offsets import delete_records
from barnabas.client.properties import ClientProperties
from barnabas.pipeline.source.options import SourceOptions, parse_options
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.protocol.record import Record
from barnabas.testing import Broker

_LAST_VERSION_WITH_NAMES = 12
LONG_AGO = 1_700_000_000_000


def options(broker: Broker, **more: str) -> SourceOptions:
    """Of a batch query."""
    return parse_options(_given(broker, more), streaming=False)


def stream_options(broker: Broker, **more: str) -> SourceOptions:
    return parse_options(_given(broker, more), streaming=True)


def _given(broker: Broker, more: dict[str, str]) -> dict[str, str]:
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers}
    if not {"subscribe", "subscribePattern", "assign"} & more.keys():
        given["subscribe"] = "orders"
    return given | more


def cluster(bootstrap: str) -> Cluster:
    return Cluster(parse_bootstrap(bootstrap), ClientProperties(), 10)


def produce(bootstrap: str, partition: Partition, records: Iterable[Record], **batch: Any) -> None:
    """In one batch."""
    own = PartitionProduceData(index=partition.number, records=build_batch(records, **batch))
    request = ProduceRequest(
        acks=-1, timeout_ms=10_000, topic_data=[TopicProduceData(name=partition.topic, partition_data=[own])]
    )
    with cluster(bootstrap) as asked:

        def attempt() -> None:
            (leader,) = asked.by_leader([partition])
            answer = asked.ask_node(leader, request, ProduceResponse, at_most=_LAST_VERSION_WITH_NAMES)
            check(answer.responses[0].partition_responses[0].error_code)

        asked.retry(attempt)


def numbered(first: int, end: int, size: int = 0) -> list[Record]:
    """Their values are their numbers, filled up to so many bytes."""
    return [
        Record(b"key %d" % each, (b"%d" % each).ljust(size), [("n", b"%d" % each)], LONG_AGO + each)
        for each in range(first, end)
    ]


def add_partitions(broker: Broker, topic: str, count: int) -> None:
    with cluster(broker.bootstrap_servers) as asked:
        wanted = CreatePartitionsTopic(name=topic, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[wanted], timeout_ms=10_000)
        for each in asked.ask_controller(request, CreatePartitionsResponse).results:
            check(each.error_code, each.error_message)


def delete_before(broker: Broker, partition: Partition, offset: int) -> None:
    with cluster(broker.bootstrap_servers) as asked:
        assert delete_records(asked, {partition: offset}) == {partition: offset}
