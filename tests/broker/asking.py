"""The requests that tests of administration make most."""

from __future__ import annotations

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record
from tests.kafka.client import RawClient

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


def create(client: RawClient, name: str, partitions: int = 1, **configs: str) -> None:
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )
    answer = client.ask(CreateTopicsRequest(topics=[topic]), 7, CreateTopicsResponse)
    assert [one.error_code for one in answer.topics] == [0]


def set_config(client: RawClient, kind: int, resource: str, name: str, value: str | None) -> int:
    """None removes it. The error code."""
    change = AlterableConfig(name=name, config_operation=1 if value is None else 0, value=value)
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=kind, resource_name=resource, configs=[change])]
    )
    (answer,) = client.ask(request, 1, IncrementalAlterConfigsResponse).responses
    return answer.error_code


def config_value(client: RawClient, kind: int, resource: str, name: str) -> str | None:
    asked = DescribeConfigsResource(resource_type=kind, resource_name=resource, configuration_keys=[name])
    (answer,) = client.ask(DescribeConfigsRequest(resources=[asked]), 4, DescribeConfigsResponse).results
    assert answer.error_code == 0
    return answer.configs[0].value if answer.configs else None


def produce(client: RawClient, topic: str, *values: bytes, partition: int = 0) -> int:
    """The offset of the first one."""
    send(client, topic, *values, partition=partition)
    return receive(client)


def send(client: RawClient, topic: str, *values: bytes, partition: int = 0) -> None:
    """Without waiting for the offset, which `receive` gives."""
    records = build_batch([Record(value=value, timestamp=1_700_000_000_000) for value in values])
    data = PartitionProduceData(index=partition, records=records)
    request = ProduceRequest(
        acks=-1, timeout_ms=5_000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
    )
    client.send(request, 12)


def receive(client: RawClient) -> int:
    (answer,) = client.receive(ProduceResponse).responses[0].partition_responses
    assert answer.error_code == 0
    return answer.base_offset
