"""Producers and consumers of the client library that a project has, for the fixtures `kafka_producer` and
`kafka_consumer`: nothing is wrapped, so that a test calls what its code calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from types import TracebackType
from typing import Any, NamedTuple, NoReturn

__all__ = ["LIBRARIES", "InLoop", "Library", "NoLibrary", "choose"]

_CLOSE_S = 5
"""A test that has killed its broker shall not wait longer for its clients to see that."""
_SILENCE_MS = 10_000
"""`for message in kafka_consumer` ends then: a test that waits for what does not come fails, rather than hangs."""


class NoLibrary(Exception):  # noqa: N818 - named for what was met
    """None is installed, or not the one that was asked for."""


class Library(NamedTuple):
    module: str
    producer: Callable[[str], AbstractContextManager[Any]]
    """Given bootstrap servers."""
    consumer: Callable[[str, str], AbstractContextManager[Any]]
    """Given bootstrap servers and the topic, which is its group's name too."""

    @property
    def is_installed(self) -> bool:
        return find_spec(self.module) is not None


class InLoop:
    """A client of aiokafka, which is made where a loop runs: `async with kafka_producer as producer`."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"aiokafka's client begins in a loop: first `async with kafka_producer as producer`, then producer.{name}"
        )

    async def __aenter__(self) -> Any:
        self._client = client = self._make()
        await client.start()
        return client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.stop()


@contextmanager
def _kafka_python_producer(bootstrap: str) -> Iterator[Any]:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=bootstrap)
    try:
        yield producer
    finally:
        producer.close(timeout=_CLOSE_S)


@contextmanager
def _kafka_python_consumer(bootstrap: str, topic: str) -> Iterator[Any]:
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=topic, auto_offset_reset="earliest", consumer_timeout_ms=_SILENCE_MS
    )
    # A leader whose metadata changes while it assigns hangs in 3.0.12, beside Apache Kafka too, once in 25 times.
    consumer.partitions_for_topic(topic)
    consumer.subscribe([topic])
    try:
        yield consumer
    finally:
        consumer.close(timeout_ms=_CLOSE_S * 1000)


@contextmanager
def _confluent_producer(bootstrap: str) -> Iterator[Any]:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap})
    try:
        yield producer
    finally:
        producer.flush(_CLOSE_S)


@contextmanager
def _confluent_consumer(bootstrap: str, topic: str) -> Iterator[Any]:
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    try:
        yield consumer
    finally:
        consumer.close()


@contextmanager
def _aiokafka_producer(bootstrap: str) -> Iterator[InLoop]:
    from aiokafka import AIOKafkaProducer

    yield InLoop(lambda: AIOKafkaProducer(bootstrap_servers=bootstrap))


@contextmanager
def _aiokafka_consumer(bootstrap: str, topic: str) -> Iterator[InLoop]:
    from aiokafka import AIOKafkaConsumer

    yield InLoop(
        lambda: AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=topic, auto_offset_reset="earliest")
    )


LIBRARIES = {
    "kafka-python": Library("kafka", _kafka_python_producer, _kafka_python_consumer),
    "confluent-kafka": Library("confluent_kafka", _confluent_producer, _confluent_consumer),
    "aiokafka": Library("aiokafka", _aiokafka_producer, _aiokafka_consumer),
}


def choose(name: str = "") -> Library:
    """The one of that name, or the first that is installed: kafka-python comes with Barnabas."""
    if name:
        if name not in LIBRARIES:
            raise NoLibrary(f"kafka_client={name} is no client library known here: write {', '.join(LIBRARIES)}.")
        if not LIBRARIES[name].is_installed:
            raise NoLibrary(f"kafka_client={name} is not installed: pip install {name}.")
        return LIBRARIES[name]
    for library in LIBRARIES.values():
        if library.is_installed:
            return library
    raise NoLibrary(
        f"kafka_producer and kafka_consumer need a client library: pip install one of {', '.join(LIBRARIES)}, "
        "or connect a client of your own to kafka.bootstrap_servers."
    )
