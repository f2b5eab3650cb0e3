"""What tests of clusters ask of a node, through a raw client."""

from __future__ import annotations

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.protocol.record import Record, read_records
from tests.kafka.client import RawClient


def create(client: RawClient, topic: str, *assignment: list[int], configs: dict[str, str] | None = None) -> int:
    """With these replicas of each partition; the error code."""
    from barnabas.protocol.messages.create_topics import CreatableTopicConfig

    creatable = CreatableTopic(
        name=topic,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=replicas)
            for number, replicas in enumerate(assignment)
        ],
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in (configs or {}).items()],
    )
    answer = client.ask(CreateTopicsRequest(topics=[creatable], timeout_ms=20_000), 7, CreateTopicsResponse)
    return answer.topics[0].error_code


def delete(client: RawClient, topic: str) -> int:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=20_000)
    return client.ask(request, 6, DeleteTopicsResponse).responses[0].error_code


def metadata(client: RawClient, *topics: str) -> MetadataResponse:
    asked = [MetadataRequestTopic(name=topic) for topic in topics] or None
    return client.ask(MetadataRequest(topics=asked, allow_auto_topic_creation=False), 12, MetadataResponse)


def partitions(client: RawClient, topic: str) -> list[MetadataResponsePartition]:
    found = metadata(client, topic).topics[0].partitions
    return sorted(found, key=lambda partition: partition.partition_index)


def produce(client: RawClient, topic: str, partition: int, value: bytes, acks: int = -1) -> tuple[int, int]:
    """The error code and the offset."""
    data = PartitionProduceData(index=partition, records=build_batch([Record(value=value)]))
    request = ProduceRequest(
        acks=acks, timeout_ms=20_000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
    )
    answer = client.ask(request, 11, ProduceResponse).responses[0].partition_responses[0]
    return answer.error_code, answer.base_offset


def values(client: RawClient, topic: str, partition: int, offset: int = 0) -> list[bytes | None]:
    """Of one Fetch, from an offset on."""
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic=topic, partitions=[wanted])])
    data = client.ask(request, 12, FetchResponse).responses[0].partitions[0]
    assert not data.error_code
    found = []
    for batch in iterate_batches(bytes(data.records or b"")):  # type: ignore[call-overload] # it has just been read
        if not batch.control:
            found += [record.value for record in read_records(batch) if record.offset >= offset]
    return found
