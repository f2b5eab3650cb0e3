"""The producers and consumers that the pytest fixtures give: each library's own, and a sentence where there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from barnabas.testing import Broker
from barnabas.testing.client_libraries import LIBRARIES, Library, NoLibrary, choose


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def round_of_kafka_python(producer: Any, consumer: Any, topic: str) -> bytes:
    producer.send(topic, b"v").get(10)
    value: bytes = next(consumer).value
    return value


def round_of_confluent_kafka(producer: Any, consumer: Any, topic: str) -> bytes:
    producer.produce(topic, b"v")
    assert producer.flush(10) == 0
    value: bytes = consumer.poll(10).value()
    return value


def round_of_aiokafka(producer: Any, consumer: Any, topic: str) -> bytes:
    async def main() -> bytes:
        async with producer as sending, consumer as receiving:
            await sending.send_and_wait(topic, b"v")
            value: bytes = (await asyncio.wait_for(receiving.getone(), 10)).value
            return value

    return asyncio.run(main())


ROUNDS = {
    "kafka-python": round_of_kafka_python,
    "confluent-kafka": round_of_confluent_kafka,
    "aiokafka": round_of_aiokafka,
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_record_goes_round(shared: Broker, name: str) -> None:
    library, topic = choose(name), f"round-of-{name}"
    shared.create_topic(topic)
    with ExitStack() as stack:
        producer = stack.enter_context(library.producer(shared.bootstrap_servers))
        consumer = stack.enter_context(library.consumer(shared.bootstrap_servers, topic))
        assert ROUNDS[name](producer, consumer, topic) == b"v"
    assert topic in shared.groups()


def test_a_client_of_aiokafka_is_entered_before_it_is_used() -> None:
    with (
        choose("aiokafka").producer("127.0.0.1:1") as producer,
        pytest.raises(AttributeError, match="first `async with kafka_producer as producer`, then producer"),
    ):
        producer.send("orders", b"")


def test_without_a_name_it_is_the_one_that_comes_with_barnabas() -> None:
    assert choose() is LIBRARIES["kafka-python"]


def test_what_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoLibrary, match=r"kafka_client=pykafka is no client .* write kafka-python, confluent-kafka"):
        choose("pykafka")
    monkeypatch.setattr(Library, "is_installed", False)
    with pytest.raises(NoLibrary, match=r"kafka_client=aiokafka is not installed: pip install aiokafka\."):
        choose("aiokafka")
    with pytest.raises(NoLibrary, match="need a client library: pip install one of kafka-python, confluent-kafka, "):
        choose()
