"""Produce, Fetch and ListOffsets by hand, for one partition."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.protocol.schema import Uuid
from tests.clients.waiting import wait_until
from tests.kafka.client import RawClient

EARLIEST = -2


def create_topic(client: RawClient, name: str, config: Mapping[str, str] | None = None, *, partitions: int = 1) -> Uuid:
    configs = [CreatableTopicConfig(name=key, value=value) for key, value in (config or {}).items()]
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=configs)
    answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 7, CreateTopicsResponse)
    assert [one.error_code for one in answer.topics] == [0], answer
    # Kafka answers before its brokers have heard of it.
    wait_until(lambda: list_offset(client, name, EARLIEST).error_code == 0, "the topic to be led")
    return answer.topics[0].topic_id


def produce_request(topic: str, batch: bytes) -> ProduceRequest:
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])
    return ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=[data])


def produce(client: RawClient, topic: str, batch: bytes) -> PartitionProduceResponse:
    answer = client.ask(produce_request(topic, batch), 12, ProduceResponse)
    return answer.responses[0].partition_responses[0]


def fetch(client: RawClient, topic: str, offset: int) -> list[Batch]:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic=topic, partitions=[partition])], session_epoch=-1
    )
    (answer,) = client.ask(request, 12, FetchResponse).responses[0].partitions
    assert answer.error_code == 0
    return list(iterate_batches(answer.records or b""))  # type: ignore[arg-type] # it came over a socket


def list_offset(client: RawClient, topic: str, timestamp: int) -> ListOffsetsPartitionResponse:
    asked = ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=timestamp)])
    answer = client.ask(ListOffsetsRequest(replica_id=-1, topics=[asked]), 7, ListOffsetsResponse)
    return answer.topics[0].partitions[0]
