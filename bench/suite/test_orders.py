"""Fifty small tests, as an application has them that produces, consumes and works in groups: all by kafka-python."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import MessageSizeTooLargeError, TopicAlreadyExistsError

MANY = 300
LONG_AGO = 1_700_000_000_000
PATIENCE_S = 20.0


def take(consumer: Any, count: int) -> list[Any]:
    return [next(consumer) for _ in range(count)]


def poll_all(consumers: list[Any], enough: Callable[[], bool]) -> list[Any]:
    found: list[Any] = []
    deadline = time.monotonic() + PATIENCE_S
    while not enough():
        assert time.monotonic() < deadline
        for consumer in consumers:
            for records in consumer.poll(timeout_ms=20).values():
                found += records
    return found


Joining = Callable[..., Any]


@pytest.fixture
def join(bootstrap: str, topic: str) -> Iterator[Joining]:
    """Another consumer of the topic, in a group that is called as it."""
    with ExitStack() as stack:

        def joined(**settings: Any) -> Any:
            consumer = KafkaConsumer(
                bootstrap_servers=bootstrap,
                group_id=topic,
                auto_offset_reset="earliest",
                consumer_timeout_ms=20_000,
                heartbeat_interval_ms=300,
                **settings,
            )
            stack.callback(consumer.close)
            consumer.partitions_for_topic(topic)  # one that leads its group without it may hang (kafka-python 3.0.12)
            consumer.subscribe([topic])
            return consumer

        yield joined


# Records


@pytest.mark.parametrize("acks", [0, 1, "all"])
@pytest.mark.parametrize("compression", [None, "gzip", "snappy", "lz4", "zstd"])
def test_what_goes_in_comes_out(bootstrap: str, topic: str, consumer: Any, compression: str | None, acks: Any) -> None:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, acks=acks, compression_type=compression, enable_idempotence=False
    )
    for number in range(10):
        producer.send(topic, b"order %d" % number)
    producer.close()
    assert [record.value for record in take(consumer, 10)] == [b"order %d" % number for number in range(10)]


@pytest.mark.parametrize("value", [b"", b"x", "ä€".encode(), bytes(1000), bytes(100_000), None])
def test_values(producer: Any, topic: str, consumer: Any, value: bytes | None) -> None:
    producer.send(topic, value, key=b"k")
    assert next(consumer).value == value


def test_headers_and_time(producer: Any, topic: str, consumer: Any) -> None:
    producer.send(topic, b"v", headers=[("a", b"1"), ("a", b"2")], timestamp_ms=LONG_AGO)
    record = next(consumer)
    assert (list(record.headers), record.timestamp) == ([("a", b"1"), ("a", b"2")], LONG_AGO)


@pytest.mark.parametrize("kind", ["order", "payment"])
def test_json(bootstrap: str, topic: str, kind: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, value_serializer=lambda value: json.dumps(value).encode())
    consumer = KafkaConsumer(
        topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", value_deserializer=json.loads, group_id=None
    )
    producer.send(topic, {"kind": kind})
    assert next(consumer).value == {"kind": kind}
    producer.close()
    consumer.close()


def test_many(producer: Any, topic: str, consumer: Any) -> None:
    for number in range(MANY):
        producer.send(topic, b"%d" % number)
    producer.flush()
    assert [int(record.value) for record in take(consumer, MANY)] == list(range(MANY))


@pytest.mark.partitions(3)
def test_a_key_stays_in_its_partition(producer: Any, topic: str, consumer: Any) -> None:
    for number in range(30):
        producer.send(topic, b"%d" % number, key=b"%d" % (number % 5))
    producer.flush()
    records = take(consumer, 30)
    assert len({(record.key, record.partition) for record in records}) == 5


@pytest.mark.partitions(3)
@pytest.mark.parametrize("number", range(3))
def test_a_partition(producer: Any, topic: str, number: int) -> None:
    sent = producer.send(topic, b"v", partition=number).get(20)
    assert (sent.partition, sent.offset) == (number, 0)


def test_a_record_that_is_too_large(bootstrap: str, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, max_request_size=4_000_000)
    with pytest.raises(MessageSizeTooLargeError):
        producer.send(topic, bytes(2_000_000)).get(20)
    producer.close()


# Positions


@pytest.mark.parametrize("offset", [0, 3, 9])
def test_seek(producer: Any, topic: str, bootstrap: str, offset: int) -> None:
    for number in range(10):
        producer.send(topic, b"%d" % number)
    producer.flush()
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None)
    at = TopicPartition(topic, 0)
    consumer.assign([at])
    consumer.seek(at, offset)
    assert next(consumer).offset == offset
    assert consumer.end_offsets([at]) == {at: 10}
    consumer.close()


@pytest.mark.parametrize(("after_ms", "offset"), [(0, 0), (5, 5), (9, 9)])
def test_seek_by_time(producer: Any, topic: str, consumer: Any, after_ms: int, offset: int) -> None:
    for number in range(10):
        producer.send(topic, b"%d" % number, timestamp_ms=LONG_AGO + number)
    producer.flush()
    at = TopicPartition(topic, 0)
    assert consumer.offsets_for_times({at: LONG_AGO + after_ms})[at].offset == offset


# Groups


def test_a_group_goes_on_where_it_was(producer: Any, topic: str, join: Joining) -> None:
    producer.send(topic, b"first")
    first = join()
    assert next(first).value == b"first"
    first.commit()
    first.close()
    producer.send(topic, b"second")
    assert next(join()).value == b"second"


def test_what_was_not_committed_comes_again(producer: Any, topic: str, join: Joining) -> None:
    producer.send(topic, b"first")
    first = join(enable_auto_commit=False)
    assert next(first).value == b"first"
    first.close()
    assert next(join()).value == b"first"


@pytest.mark.partitions(2)
def test_two_share_the_work(producer: Any, topic: str, join: Joining) -> None:
    consumers = [join(), join()]
    poll_all(consumers, lambda: all(len(each.assignment()) == 1 for each in consumers))
    for number in range(20):
        producer.send(topic, b"%d" % number, partition=number % 2)
    producer.flush()
    values: set[bytes] = set()
    deadline = time.monotonic() + PATIENCE_S
    while len(values) < 20:
        assert time.monotonic() < deadline
        values |= {record.value for record in poll_all(consumers, iter([False, True]).__next__)}


@pytest.mark.partitions(2)
def test_one_takes_over_when_the_other_leaves(join: Joining) -> None:
    stays, leaves = join(), join()
    poll_all([stays, leaves], lambda: len(stays.assignment()) == len(leaves.assignment()) == 1)
    leaves.close()
    poll_all([stays], lambda: len(stays.assignment()) == 2)


@pytest.mark.parametrize("offset", [1, 4])
def test_commit_by_hand(producer: Any, topic: str, join: Joining, admin: Any, offset: int) -> None:
    for number in range(5):
        producer.send(topic, b"%d" % number)
    producer.flush()
    consumer = join(enable_auto_commit=False)
    next(consumer)
    at = TopicPartition(topic, 0)
    consumer.commit({at: OffsetAndMetadata(offset, "", -1)})
    assert admin.list_group_offsets(topic)[topic][at].offset == offset


def test_a_group_is_described_and_deleted(producer: Any, topic: str, join: Joining, admin: Any) -> None:
    producer.send(topic, b"v")
    consumer = join()
    next(consumer)
    assert admin.describe_groups([topic])[topic]["group_state"] == "Stable"
    consumer.close()
    admin.delete_groups([topic])
    assert topic not in {group["group_id"] for group in admin.list_groups()}


# Topics


@pytest.mark.parametrize("partitions", [2, 5])
def test_more_partitions(admin: Any, topic: str, partitions: int) -> None:
    admin.create_partitions({topic: partitions})
    deadline = time.monotonic() + PATIENCE_S
    while len(admin.describe_topics([topic])[0]["partitions"]) != partitions:
        assert time.monotonic() < deadline


@pytest.mark.parametrize("value", ["1000", "60000"])
def test_configuration(admin: Any, topic: str, value: str) -> None:
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": value})])
    deadline = time.monotonic() + PATIENCE_S
    while value not in str(admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])):
        assert time.monotonic() < deadline


def test_a_name_that_is_taken(admin: Any, topic: str) -> None:
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})


def test_records_are_deleted(admin: Any, producer: Any, topic: str, consumer: Any) -> None:
    for number in range(5):
        producer.send(topic, b"%d" % number)
    producer.flush()
    at = TopicPartition(topic, 0)
    admin.delete_records({at: 3})
    assert consumer.beginning_offsets([at]) == {at: 3}


def test_all_topics_are_listed(admin: Any, topic: str) -> None:
    assert topic in admin.list_topics()
