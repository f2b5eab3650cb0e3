"""An error that a test asks for is one that clients can read: of every API, at every version, in the place where Kafka
has its errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.broker.apis import MODULES
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from barnabas.protocol.schema import ZERO, Field, Struct, Uuid
from barnabas.testing import Broker
from barnabas.testing.message_parts import error_codes
from tests.kafka.client import RawClient

TOPIC = "orders"
VERSIONS = [(key, version) for key in MODULES for version in range(APIS[key].first, APIS[key].last_stable + 1)]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        broker.produce(TOPIC, "value")
        yield broker
        assert not [event for event in broker.events() if "Traceback" in event]


@pytest.fixture(scope="module")
def client(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.host, broker.port) as client:
        yield client


def one_of_everything(kind: type[Struct], version: int, topic_id: Uuid) -> Any:
    """What has a list has one element there; topics are the one that there is."""
    return kind(
        **{field.name: value(kind, field, version, topic_id) for field in kind.__fields__ if version in field.versions}
    )


def value(kind: type[Struct], field: Field, version: int, topic_id: Uuid) -> Any:
    if field.type.is_array:
        return [value(kind, field.element, version, topic_id)]
    if field.type.is_struct:
        return one_of_everything(getattr(sys.modules[kind.__module__], field.type.name), version, topic_id)
    if field.type.name == "string":
        return TOPIC
    if field.type.name == "uuid":
        # Before version 12 Kafka takes no ids there, though it reads them.
        return Uuid.ZERO if kind is MetadataRequestTopic and version < 12 else topic_id
    if field.name in ("acks", "session_epoch"):
        return -1
    return ZERO[field.type.name] if field.default is None else field.default


@pytest.mark.parametrize("code", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.POLICY_VIOLATION])
@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=[f"{APIS[key].name}-{version}" for key, version in VERSIONS])
def test_an_answer_has_the_error_that_was_asked_for_and_no_other(
    broker: Broker, client: RawClient, key: int, version: int, code: ErrorCode
) -> None:
    api = APIS[key]
    topic_id = broker._embedded.do(lambda host: host.node.image.topics.by_name[TOPIC].id)
    request = one_of_everything(api.request, version, topic_id)
    with broker.fail_next(api.name, code) as fault:
        answer = client.ask(request, version, api.response)
        assert fault.met == 1
    assert error_codes(answer) == {code}
    seen = broker.requests()[-1]
    assert (seen.api, seen.version, seen.errors) == (api.name, version, (code.name,))


def test_a_version_that_is_not_spoken_is_refused_so_that_every_client_can_read_it(broker: Broker) -> None:
    from kafka import KafkaAdminClient

    with broker.fail_next("ApiVersions", "UNSUPPORTED_VERSION") as fault:
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
        assert TOPIC in admin.list_topics()
        admin.close()
        assert fault.met == 1


def test_who_looks_for_brokers_finds_them_whatever_becomes_of_topics(broker: Broker, client: RawClient) -> None:
    brokers_alone = MetadataRequest(topics=[])
    with broker.fail_next("Metadata", "LEADER_NOT_AVAILABLE") as fault:
        answer = client.ask(brokers_alone, 13, MetadataResponse)
        assert (answer.error_code, len(answer.brokers), fault.met) == (0, 1, 0)
        everything = client.ask(MetadataRequest(topics=None), 13, MetadataResponse)
        assert (everything.error_code, len(everything.brokers), fault.met) == (0, 1, 1)
        assert {topic.error_code for topic in everything.topics} == {ErrorCode.LEADER_NOT_AVAILABLE}
    with broker.fail_next("Metadata", "REBOOTSTRAP_REQUIRED"):
        answer = client.ask(brokers_alone, 13, MetadataResponse)
        assert (answer.error_code, len(answer.brokers)) == (ErrorCode.REBOOTSTRAP_REQUIRED, 1)
