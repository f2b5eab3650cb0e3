"""The scenarios that say `config kafka`, asked of Kafka 4.3.1 too."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.schema import Uuid
from tests.coordination.beside_kafka import DEADLINE_S, KAFKA_SETTINGS, POLL_S, BesideKafka
from tests.coordination.transcript import SCENARIOS, commands_and_remarks
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

pytestmark = [pytest.mark.java, pytest.mark.slow]

FOR_KAFKA = [scenario for scenario in SCENARIOS if "\nconfig kafka\n" in scenario.read_text()]


@pytest.fixture(scope="module")
def broker(kafka_classpath: str) -> Iterator[KafkaBroker]:
    with KafkaBroker(kafka_classpath, config=KAFKA_SETTINGS) as broker:
        yield broker


@pytest.fixture(scope="module")
def topic_ids(broker: KafkaBroker) -> dict[str, Uuid]:
    with RawClient(broker.host, broker.port) as client:
        topics = [
            CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
            for name, partitions in (("orders", 3), ("payments", 1))
        ]
        created = client.ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7, CreateTopicsResponse)
        wait_for_coordinator(client)
        return {topic.name: topic.topic_id for topic in created.topics}


def wait_for_coordinator(client: RawClient) -> None:
    """The first question makes Kafka create __consumer_offsets, which it then has to load."""
    until = time.monotonic() + DEADLINE_S
    pause = threading.Event()
    while True:
        client.ask(FindCoordinatorRequest(coordinator_keys=["nobody"]), 4, FindCoordinatorResponse)
        answer = client.ask(HeartbeatRequest(group_id="nobody"), 4, HeartbeatResponse)
        if answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
            return
        assert time.monotonic() < until, "Kafka's coordinator did not come up"
        pause.wait(POLL_S)


@pytest.mark.parametrize("scenario", FOR_KAFKA, ids=lambda path: path.stem)
def test_kafka_answers_the_same(scenario: Path, broker: KafkaBroker, topic_ids: dict[str, Uuid]) -> None:
    with BesideKafka(broker.host, broker.port, topic_ids) as both:
        for line in commands_and_remarks(scenario.read_text()):
            if line.startswith("> "):
                both.run(line.removeprefix("> "))
        both.compare_records(broker.data_directory / "__consumer_offsets-0")
    assert both.compared > 20
