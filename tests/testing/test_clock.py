"""A clock that a test moves: what is due has happened when `advance` returns."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer
from kafka import KafkaConsumer

from barnabas.testing import Broker, Clock

HOUR_MS = 3_600_000


def test_retention_takes_what_has_become_too_old() -> None:
    with Broker() as broker:
        broker.create_topic("short", config={"retention.ms": HOUR_MS, "segment.ms": HOUR_MS})
        broker.produce("short", "old")
        broker.clock.advance(minutes=59)
        assert len(broker.records("short")) == 1
        broker.clock.advance(minutes=2)
        assert broker.records("short") == []
        assert "past retention.ms=3600000" in broker.events()[-1]
        assert broker.produce("short", "new").offset == 1


def test_a_large_record_goes_into_a_compacted_topic_too() -> None:
    """The broker looks at it in a thread, since compaction wants to know its key."""
    with Broker() as broker:
        broker.create_topic("state", config={"cleanup.policy": "compact"})
        broker.produce("state", b"x" * 500_000, key="k")
        assert [len(record.value or b"") for record in broker.records("state")] == [500_000]


def test_compaction_keeps_the_last_of_each_key() -> None:
    with Broker() as broker:
        broker.create_topic("state", config={"cleanup.policy": "compact", "segment.ms": HOUR_MS})
        for value in range(3):
            broker.produce("state", value, key="k")
        broker.clock.advance(hours=2)
        broker.produce("state", "rolls the segment", key="other")
        broker.clock.advance(minutes=1)
        assert [(record.key_text, record.text) for record in broker.records("state")] == [
            ("k", "2"),
            ("other", "rolls the segment"),
        ]


def test_a_member_that_is_not_heard_of_is_taken_for_dead_and_offsets_expire() -> None:
    with Broker(settings={"offsets.retention.minutes": 60}) as broker:
        broker.produce("orders", "value")
        consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=broker.bootstrap_servers,
            group_id="g",
            auto_offset_reset="earliest",
            session_timeout_ms=30_000,
            enable_auto_commit=False,
        )
        assert next(consumer).value == b"value"
        consumer.commit()
        assert broker.groups()["g"].state == "Stable"
        broker.clock.advance(31)
        assert broker.groups()["g"].members == ()
        consumer.close()
        broker.clock.advance(minutes=59)
        assert broker.group_offsets("g") == {("orders", 0): 1}
        broker.clock.advance(minutes=70)
        assert broker.group_offsets("g") == {}
        assert broker.groups() == {}


def test_clients_are_served_however_far_it_moves() -> None:
    with Broker() as broker:
        client = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for number in range(3):
            client.produce("orders", b"%d" % number)
            assert client.flush(10) == 0
            broker.clock.advance(days=1)
            broker.create_topic(f"made-{number}")
        assert [record.text for record in broker.records("orders")] == ["0", "1", "2"]


def test_it_goes_on_by_itself_unless_it_is_frozen() -> None:
    clock = Clock()
    assert abs(clock.now - time.time()) < 1
    began = clock.now
    with clock.frozen():
        stands = clock.now
        with Broker(clock=clock) as broker:
            first = broker.produce("orders", "one")
            clock.advance(0.5)
            second = broker.produce("orders", "two")
        assert (first.timestamp, second.timestamp - first.timestamp) == (round(stands * 1000), 500)
        assert clock.now == stands + 0.5
    time_of_day = time.time()
    while clock.now < began + 0.51:
        assert time.time() < time_of_day + 10
    with pytest.raises(ValueError, match="not back"):
        clock.advance(-1)


def test_a_clock_may_begin_anywhere_and_be_shared() -> None:
    clock = Clock(now_ms=1_000_000_000_000, frozen=True)
    with Broker(clock=clock) as one, Broker(clock=clock) as other:
        brokers = (one, other)
        for broker in brokers:
            broker.create_topic("short", config={"retention.ms": HOUR_MS, "segment.ms": HOUR_MS})
            assert broker.produce("short", "value").timestamp == 1_000_000_000_000
        clock.advance(hours=3)
        assert [broker.records("short") for broker in brokers] == [[], []]


def test_the_time_goes_on_during_a_restart() -> None:
    with Broker() as broker:
        broker.create_topic("short", config={"retention.ms": HOUR_MS, "segment.ms": HOUR_MS})
        broker.produce("short", "old")
        broker.kill()
        broker.clock.advance(hours=2)
        broker.start()
        broker.clock.advance(minutes=1)  # after a start nothing is deleted before log.initial.task.delay.ms
        assert broker.records("short") == []
