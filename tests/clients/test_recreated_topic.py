"""A topic is deleted and created again under a consumer that goes on living."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.clients.adapter import JAVA, ConsumerSettings, Received, load, take
from tests.clients.broker_process import BrokerProcess
from tests.clients.parameters import client_parameters
from tests.clients.waiting import wait_until

pytestmark = pytest.mark.slow


# kafka-python 3.0.12 never reads that topic again, beside Apache Kafka neither.
@pytest.mark.parametrize("name_of_client", client_parameters("confluent-kafka", "aiokafka", JAVA))
def test_a_topic_is_created_again(name_of_client: str, own_broker: Callable[..., BrokerProcess], name: str) -> None:
    """The consumer, which stood behind all that there was, reads the new records from the first one on."""
    broker = own_broker(auto_create_topics_enable="false")  # or the consumer itself would create it again
    client = load(name_of_client)
    admin = client.administer(broker.bootstrap)
    admin.create_topic(name)
    producer = client.produce(broker.bootstrap)
    for number in range(20):
        producer.send(name, b"old %d" % number)
    producer.flush()
    producer.close()
    consumer = client.consume(ConsumerSettings(broker.bootstrap, name, group=name, metadata_max_age_ms=500))
    consumer.subscribe()
    take(consumer, 20)

    admin.delete_topic(name)
    wait_until(lambda: name not in admin.topics(), "the topic to go")
    admin.create_topic(name)
    wait_until(lambda: name in admin.topics(), "the topic to come")
    admin.close()
    producer = client.produce(broker.bootstrap)
    for number in range(5):
        producer.send(name, b"new %d" % number)
    assert producer.flush() == [(0, offset) for offset in range(5)]
    producer.close()
    received: list[Received] = []

    def all_are_here() -> bool:
        received.extend(consumer.poll(0.1))
        return len(received) >= 5

    wait_until(all_are_here, "the new records")
    assert [(one.offset, one.value) for one in received] == [(number, b"new %d" % number) for number in range(5)]
    consumer.close()
