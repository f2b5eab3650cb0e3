"""Three clients in each kind of trouble: what they sent is there once and in order, and they read all of it."""

from __future__ import annotations

import asyncio
import gc
import re
from collections.abc import Callable, Iterator
from typing import Protocol

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer

from barnabas.testing import Broker

# A connection that is refused, while the broker starts again, leaves kafka-python's socket to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

COUNT = 5
PATIENCE_S = 20
VALUES = [b"%d" % number for number in range(COUNT)]
Between = Callable[[], object]
"""Called after the first record is there: trouble that is not about the next request."""


class Client(Protocol):
    def produce(self, servers: str, topic: str, between: Between) -> None: ...

    def consume(self, servers: str, topic: str) -> list[bytes | None]: ...


class WithConfluentKafka:
    def produce(self, servers: str, topic: str, between: Between) -> None:
        settings = {"enable.idempotence": True, "retry.backoff.ms": 10, "reconnect.backoff.ms": 10, "log_level": 0}
        producer = Producer({"bootstrap.servers": servers, **settings})
        for number, value in enumerate(VALUES):
            producer.produce(topic, value)
            assert producer.flush(PATIENCE_S) == 0
            if number == 0:
                between()

    def consume(self, servers: str, topic: str) -> list[bytes | None]:
        settings = {"auto.offset.reset": "earliest", "fetch.error.backoff.ms": 10, "reconnect.backoff.ms": 10}
        consumer = Consumer({"bootstrap.servers": servers, "group.id": topic, "log_level": 0, **settings})
        consumer.subscribe([topic])
        found: list[bytes | None] = []
        while len(found) < COUNT:
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            if message.error() is None:
                found.append(message.value())
        consumer.close()
        return found


class WithKafkaPython:
    def produce(self, servers: str, topic: str, between: Between) -> None:
        producer = KafkaProducer(
            bootstrap_servers=servers, enable_idempotence=True, retry_backoff_ms=10, reconnect_backoff_ms=10
        )
        for number, value in enumerate(VALUES):
            producer.send(topic, value).get(PATIENCE_S)
            if number == 0:
                between()
        producer.close()

    def consume(self, servers: str, topic: str) -> list[bytes | None]:
        consumer = KafkaConsumer(
            topic, bootstrap_servers=servers, group_id=topic, auto_offset_reset="earliest", retry_backoff_ms=10
        )
        found = [next(consumer).value for _ in range(COUNT)]
        consumer.close()
        return found


class WithAiokafka:
    def produce(self, servers: str, topic: str, between: Between) -> None:
        async def main() -> None:
            async with AIOKafkaProducer(
                bootstrap_servers=servers, enable_idempotence=True, retry_backoff_ms=10
            ) as producer:
                for number, value in enumerate(VALUES):
                    await asyncio.wait_for(producer.send_and_wait(topic, value), PATIENCE_S)
                    if number == 0:
                        between()

        asyncio.run(main())

    def consume(self, servers: str, topic: str) -> list[bytes | None]:
        async def main() -> list[bytes | None]:
            async with AIOKafkaConsumer(
                topic, bootstrap_servers=servers, group_id=topic, auto_offset_reset="earliest", retry_backoff_ms=10
            ) as consumer:
                return [(await asyncio.wait_for(consumer.getone(), PATIENCE_S)).value for _ in range(COUNT)]

        return asyncio.run(main())


CLIENTS: dict[str, Client] = {
    "confluent-kafka": WithConfluentKafka(),
    "kafka-python": WithKafkaPython(),
    "aiokafka": WithAiokafka(),
}


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker
        assert not [event for event in broker.events() if "Traceback" in event]
    gc.collect()  # the sockets that are left shall not be found in another module


@pytest.fixture
def topic(shared: Broker, request: pytest.FixtureRequest) -> Iterator[str]:
    name = re.sub(r"\W+", "-", request.node.name)
    shared.create_topic(name)
    yield name
    shared.clear_faults()


# librdkafka waits a second and more before it asks some things again.
@pytest.fixture(params=[pytest.param("confluent-kafka", marks=pytest.mark.slow), "kafka-python", "aiokafka"])
def client(request: pytest.FixtureRequest) -> Client:
    return CLIENTS[request.param]


def nothing() -> None:
    pass


TROUBLE: dict[str, Callable[[Broker, str], object]] = {
    "refused": lambda broker, topic: broker.fail_next("Produce", "NOT_ENOUGH_REPLICAS", times=2, topic=topic),
    "the wrong leader": lambda broker, topic: broker.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER", topic=topic),
    "a lost request": lambda broker, topic: broker.drop_next("Produce", topic=topic),
    "a lost answer": lambda broker, topic: broker.drop_next("Produce", after_appending=True, topic=topic),
    "a late answer": lambda broker, topic: broker.delay_next("Produce", 0.1, after_appending=True, topic=topic),
    "a quota": lambda broker, topic: broker.throttle("Produce", 20, times=2),
    "cut connections": lambda broker, topic: broker.drop_connections(),
    "a restart": lambda broker, topic: broker.restart(),
}


@pytest.mark.parametrize("trouble", TROUBLE)
def test_what_an_idempotent_producer_sent_is_there_once(
    shared: Broker, topic: str, client: Client, trouble: str
) -> None:
    client.produce(shared.bootstrap_servers, topic, lambda: TROUBLE[trouble](shared, topic))
    assert [record.value for record in shared.records(topic)] == VALUES
    met = [one for one in shared.requests("Produce") if one.topics == (topic,) and one.fault is not None]
    assert bool(met) == (trouble not in ("cut connections", "a restart"))


REFUSALS = {
    "Fetch": "NOT_LEADER_OR_FOLLOWER",
    "FindCoordinator": "COORDINATOR_NOT_AVAILABLE",
    "JoinGroup": "COORDINATOR_LOAD_IN_PROGRESS",
    "ListOffsets": "NOT_LEADER_OR_FOLLOWER",
    "Metadata": "LEADER_NOT_AVAILABLE",
    "OffsetFetch": "COORDINATOR_LOAD_IN_PROGRESS",
    "SyncGroup": "REBALANCE_IN_PROGRESS",
}
"""What a consumer asks before its first record, and an error after which it asks again."""


@pytest.mark.parametrize("api", REFUSALS)
def test_a_consumer_gets_over_an_error_of_each_thing_that_it_asks(
    shared: Broker, topic: str, client: Client, api: str
) -> None:
    for value in VALUES:
        shared.produce(topic, value)
    with shared.fail_next(api, REFUSALS[api]) as fault:
        assert client.consume(shared.bootstrap_servers, topic) == VALUES
        assert fault.met == 1


@pytest.mark.parametrize("api", ["FindCoordinator", "JoinGroup", "Fetch"])
def test_a_consumer_gets_over_a_connection_that_is_cut(shared: Broker, topic: str, client: Client, api: str) -> None:
    for value in VALUES:
        shared.produce(topic, value)
    with shared.drop_next(api) as fault:
        assert client.consume(shared.bootstrap_servers, topic) == VALUES
        assert fault.met == 1
