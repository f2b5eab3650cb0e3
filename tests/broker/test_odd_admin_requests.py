"""Odd administrative requests, which random ones beside Kafka came upon (test_random_requests_beside_kafka.py)."""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.protocol.schema import Uuid
from tests.kafka.client import RawClient

from .test_produce_and_fetch import TOPIC


def test_a_deletion_that_names_nothing_needs_no_time(client: RawClient) -> None:
    both = DeleteTopicState(name=TOPIC, topic_id=Uuid(b"unknown to anyone"[:16]))

    def codes(*topics: DeleteTopicState) -> list[int]:
        request = DeleteTopicsRequest(topics=list(topics), timeout_ms=-1)
        return [one.error_code for one in client.ask(request, 6, DeleteTopicsResponse).responses]

    assert codes(both) == [ErrorCode.INVALID_REQUEST]
    assert codes(DeleteTopicState(name=TOPIC), DeleteTopicState(name=TOPIC)) == [ErrorCode.INVALID_REQUEST]
    assert codes(both, DeleteTopicState(name=TOPIC)) == [ErrorCode.REQUEST_TIMED_OUT] * 2


def test_a_creation_that_cannot_be_needs_no_time(client: RawClient) -> None:
    def codes(*names: str) -> list[int]:
        topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
        answer = client.ask(CreateTopicsRequest(topics=topics, timeout_ms=0), 7, CreateTopicsResponse)
        return [one.error_code for one in answer.topics]

    assert codes("__cluster_metadata") == [ErrorCode.INVALID_REQUEST]
    assert codes("__cluster_metadata", TOPIC) == [ErrorCode.REQUEST_TIMED_OUT] * 2


def test_a_created_topics_configurations_are_told_as_they_were_written(client: RawClient) -> None:
    config = CreatableTopicConfig(name="min.cleanable.dirty.ratio", value="1")
    topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1, configs=[config])
    answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 7, CreateTopicsResponse)
    told = {one.name: one.value for one in answer.topics[0].configs or ()}
    assert told["min.cleanable.dirty.ratio"] == "1"


def test_what_a_quota_is_refused_for_is_named(client: RawClient) -> None:
    ops = [OpData(key="consumer_byte_rate", value=1.0), OpData(key="consumer_byte_rate", remove=True)]
    entry = EntryData(entity=[EntityData(entity_type="user", entity_name="kafka")], ops=ops)
    (told,) = client.ask(AlterClientQuotasRequest(entries=[entry]), 1, AlterClientQuotasResponse).entries
    assert told.error_code == ErrorCode.INVALID_REQUEST
    assert "user kafka" in (told.error_message or "")


def test_an_operation_that_there_is_not_is_seen_before_what_another_would_do(client: RawClient) -> None:
    configs = [
        AlterableConfig(name="log.retention.ms", config_operation=2, value="5"),
        AlterableConfig(name="background.threads", config_operation=-1, value="5"),
    ]
    resource = AlterConfigsResource(resource_type=4, resource_name="", configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource])
    (told,) = client.ask(request, 1, IncrementalAlterConfigsResponse).responses
    assert told.error_code == ErrorCode.INVALID_REQUEST
