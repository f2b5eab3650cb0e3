"""Partitions that are added are led and written to at once, and are there after a restart."""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.kafka.client import RawClient

from .asking import create, produce
from .running import RunningNode


def grow(client: RawClient, topic: str, count: int, timeout_ms: int = 5_000) -> int:
    wanted = CreatePartitionsTopic(name=topic, count=count, assignments=None)
    request = CreatePartitionsRequest(topics=[wanted], timeout_ms=timeout_ms)
    (answer,) = client.ask(request, 3, CreatePartitionsResponse).results
    return answer.error_code


def count_of(client: RawClient, topic: str) -> int:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    (answer,) = client.ask(request, 12, MetadataResponse).topics
    return len(answer.partitions)


def test_new_partitions_take_records(node: RunningNode) -> None:
    with node.client() as client:
        create(client, "orders")
        assert grow(client, "orders", 3) == 0
        assert produce(client, "orders", b"one", partition=2) == 0
    node.restart()
    with node.client() as client:
        assert count_of(client, "orders") == 3
        assert produce(client, "orders", b"two", partition=2) == 1


def test_a_request_without_time_does_nothing(client: RawClient) -> None:
    create(client, "orders")
    assert grow(client, "orders", 3, timeout_ms=0) == ErrorCode.REQUEST_TIMED_OUT
    assert count_of(client, "orders") == 1
    topic = CreatableTopic(name="late", num_partitions=1, replication_factor=1)
    answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=0), 7, CreateTopicsResponse)
    assert [one.error_code for one in answer.topics] == [ErrorCode.REQUEST_TIMED_OUT]
    assert grow(client, "late", 2) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
