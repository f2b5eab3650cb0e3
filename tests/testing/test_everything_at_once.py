"""A producer and a consumer while all kinds of trouble come one after another: nothing is lost, nothing there twice."""

from __future__ import annotations

import random
import threading
import time

import pytest
from confluent_kafka import Consumer, Producer

from barnabas.testing import Broker

ERRORS = {
    "ApiVersions": "UNSUPPORTED_VERSION",
    "Fetch": "NOT_LEADER_OR_FOLLOWER",
    "FindCoordinator": "COORDINATOR_NOT_AVAILABLE",
    "Heartbeat": "REBALANCE_IN_PROGRESS",
    "InitProducerId": "COORDINATOR_LOAD_IN_PROGRESS",
    "JoinGroup": "COORDINATOR_LOAD_IN_PROGRESS",
    "ListOffsets": "NOT_LEADER_OR_FOLLOWER",
    "Metadata": "LEADER_NOT_AVAILABLE",
    "OffsetCommit": "COORDINATOR_LOAD_IN_PROGRESS",
    "OffsetFetch": "COORDINATOR_LOAD_IN_PROGRESS",
    "Produce": "NOT_ENOUGH_REPLICAS",
    "SyncGroup": "REBALANCE_IN_PROGRESS",
}
"""Of each API one that Kafka itself answers, and after which clients ask again."""
STEPS, RECORDS_A_STEP = 60, 20
PATIENCE_S = 60
PRODUCER = "producer"
QUICK = {"log_level": 0, "reconnect.backoff.ms": 10, "retry.backoff.ms": 10, "socket.timeout.ms": 1000}


class Reading:
    """A consumer in a thread of its own, until it has read so many different values."""

    def __init__(self, broker: Broker, count: int) -> None:
        self.values: set[bytes | None] = set()
        self._count = count
        settings = {
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
            # Whose first Metadata of its topics is lost asks again only then; by itself a librdkafka does after 300 s.
            "topic.metadata.refresh.interval.ms": 1000,
            **QUICK,
        }
        self._consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, **settings})
        self._consumer.subscribe(["orders"])
        self._deadline_s = time.monotonic() + PATIENCE_S
        self._has_read = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while len(self.values) < self._count and time.monotonic() < self._deadline_s:
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.values.add(message.value())
        self._has_read.set()
        self._consumer.close()

    def end(self) -> set[bytes | None]:
        assert self._has_read.wait(2 * PATIENCE_S)
        self._thread.join(1)  # librdkafka does not always come back out of close, and that is not what is asked here
        return self.values


def make_trouble(broker: Broker, producer: Producer, chance: random.Random) -> None:
    api = chance.choice(list(ERRORS))
    after = chance.random() < 0.5
    match chance.randrange(10):
        case 0:
            broker.drop_connections()
        case 1:
            broker.restart()
        case 2:
            broker.kill()
            producer.poll(0.01)
            broker.start()
        case 3:
            with broker.pause():
                producer.poll(0.05)
        case 4:
            broker.clock.advance(1)
        case 5:
            broker.ignore_next("Fetch")
        case 6:
            broker.drop_next(api, after_appending=after)
        case 7:
            broker.delay_next(api, 0.05, after_appending=after)
        case 8:
            broker.throttle(api, 20, times=2)
        case 9:
            # A group of librdkafka whose leader is told this of its topics assigns nothing, and stays with that.
            who = PRODUCER if api == "Metadata" else None
            broker.fail_next(api, ERRORS[api], client_id=who)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_sent_is_there_once_and_read(seed: int) -> None:
    chance = random.Random(seed)
    sent = [b"%d" % number for number in range(STEPS * RECORDS_A_STEP)]
    with Broker() as broker:
        broker.create_topic("orders", partitions=3)
        reading = Reading(broker, len(sent))
        settings = {"client.id": PRODUCER, "enable.idempotence": True, **QUICK}
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, **settings})
        for first in range(0, len(sent), RECORDS_A_STEP):
            make_trouble(broker, producer, chance)
            for value in sent[first : first + RECORDS_A_STEP]:
                producer.produce("orders", value)
            producer.poll(0.05)
        broker.clear_faults()
        assert producer.flush(PATIENCE_S) == 0
        assert sorted(record.value or b"" for record in broker.records("orders")) == sorted(sent)
        assert reading.end() == set(sent)
        assert not [event for event in broker.events() if "Traceback" in event]
