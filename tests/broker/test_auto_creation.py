"""Topics that nobody created: asked for, not yet there in that answer, and there a moment later; as Kafka does it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from barnabas.protocol.schema import Uuid
from tests.clients.waiting import wait_until
from tests.kafka.broker import SMALL, KafkaBroker
from tests.kafka.client import RawClient

from .asking import config_value, create
from .running import RunningNode

NO_ID = Uuid(bytes(16))
OF_THE_TOPIC = 1
SEGMENTS = {
    "transaction.state.log.segment.bytes": "2097152",
    "share.coordinator.state.topic.segment.bytes": "3145728",
    "share.coordinator.state.topic.compression.codec": "4",
}
"""The last is how its coordinator writes, and none of the topic's."""
COORDINATORS_TOPICS = {
    "__transaction_state": {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
        "segment.bytes": "2097152",
        "unclean.leader.election.enable": "false",
    },
    "__share_group_state": {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "min.insync.replicas": "1",
        "retention.ms": "-1",
        "segment.bytes": "3145728",
    },
}


def ask_for(client: RawClient, *names: str, version: int = 13, create: bool = True) -> dict[str, MetadataResponseTopic]:
    topics = [MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=create)
    return {topic.name or "": topic for topic in client.ask(request, version, MetadataResponse).topics}


def is_there(client: RawClient, name: str) -> bool:
    return ask_for(client, name, create=False)[name].error_code == ErrorCode.NONE


def check_that_a_missing_topic_is_made_after_the_answer(client: RawClient, prefix: str) -> None:
    for version in (1, 4, 8, 13):
        name = f"{prefix}-{version}"
        (topic,) = ask_for(client, name, version=version).values()
        assert (topic.error_code, topic.topic_id) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_ID)
        assert topic.partitions == []
        wait_until(partial(is_there, client, name), f"{name} is there")


def check_that_a_name_that_collides_is_only_unknown(client: RawClient, prefix: str) -> None:
    """A dot and an underscore are one in the names of metrics: it is never made, and the client may ask for ever."""
    create(client, f"{prefix}.a")
    answers = ask_for(client, f"{prefix}_a", "no name!")
    assert answers[f"{prefix}_a"].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answers["no name!"].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_missing_topic_is_made_after_the_answer(client: RawClient) -> None:
    check_that_a_missing_topic_is_made_after_the_answer(client, "auto-missing")


def test_a_name_that_collides_is_only_unknown(client: RawClient, node: RunningNode) -> None:
    check_that_a_name_that_collides_is_only_unknown(client, "auto-collides")
    wait_until(lambda: any("collides_a" in str(line) for line in node.lines), "the log says why")


def test_a_deleted_topic_looks_gone(client: RawClient) -> None:
    """In Kafka only most of the time: its broker follows the controller a moment later."""
    create(client, "deleted")
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="deleted")], timeout_ms=10_000)
    assert client.ask(request, 6, DeleteTopicsResponse).responses[0].error_code == ErrorCode.NONE
    assert ask_for(client, "deleted", version=1)["deleted"].partitions == []


def partitions_once_made(client: RawClient, name: str) -> int:
    ask_for(client, name)
    wait_until(partial(is_there, client, name), f"{name} is there")
    return len(ask_for(client, name, create=False)[name].partitions)


def check_that_coordinators_topics_are_as_they_want_them(client: RawClient) -> None:
    for name, wanted in COORDINATORS_TOPICS.items():
        assert partitions_once_made(client, name) == 1
        resource = DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
        (found,) = client.ask(DescribeConfigsRequest(resources=[resource]), 4, DescribeConfigsResponse).results
        assert {one.name: one.value for one in found.configs if one.config_source == OF_THE_TOPIC} == wanted


def test_coordinators_topics_are_as_they_want_them(tmp_path: Path) -> None:
    """Kafka has them when it gets the directory, and does not change them any more."""
    alike = RunningNode(tmp_path / "data")
    alike.settings.update({**SMALL, **SEGMENTS})
    with alike as node, node.client() as client:
        check_that_coordinators_topics_are_as_they_want_them(client)


def test_coordinators_topics_want_no_more_replicas_than_there_are_brokers(client: RawClient) -> None:
    for name in COORDINATORS_TOPICS:
        assert partitions_once_made(client, name) == 50
        assert config_value(client, 2, name, "min.insync.replicas") == "1"


@pytest.mark.java
@pytest.mark.slow
def test_kafka_wants_coordinators_topics_the_same(kafka_classpath: str) -> None:
    with KafkaBroker(kafka_classpath, config=SEGMENTS) as kafka, RawClient(kafka.host, kafka.port) as client:
        check_that_coordinators_topics_are_as_they_want_them(client)


@pytest.mark.java
@pytest.mark.slow
def test_kafka_does_the_same(kafka_broker: KafkaBroker) -> None:
    with RawClient(kafka_broker.host, kafka_broker.port) as client:
        check_that_a_missing_topic_is_made_after_the_answer(client, "auto-missing")
        check_that_a_name_that_collides_is_only_unknown(client, "auto-collides")


def test_one_creation_is_under_way_however_often_clients_ask(client: RawClient, node: RunningNode) -> None:
    for _ in range(50):
        topics = [MetadataRequestTopic(name="often")]
        client.send(MetadataRequest(topics=topics, allow_auto_topic_creation=True), 13)
    answers = [client.receive(MetadataResponse).topics[0] for _ in range(50)]
    assert answers[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    wait_until(lambda: is_there(client, "often"), "the topic is there")
    node.until(lambda running: not running.being_created)


def test_nothing_is_made_where_nobody_wants_it(tmp_path: Path) -> None:
    with RunningNode(tmp_path / "data", auto_create_topics_enable="false") as node, node.client() as client:
        assert ask_for(client, "unwanted")["unwanted"].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert not node.do(lambda running: running.being_created)
        assert not is_there(client, "unwanted")
