"""The same round for each Python client: records, positions, commits, administration."""

from __future__ import annotations

import pytest

from tests.clients.adapter import JAVA, Administering, Client, Committed, ConsumerSettings, Received, load, take
from tests.clients.broker_process import BrokerProcess
from tests.clients.parameters import EACH_CLIENT, client_parameters
from tests.clients.waiting import wait_until

pytestmark = pytest.mark.slow

LONG_AGO = 1_700_000_000_000
HEADERS = (("color", b"red"), ("color", b"\x00\xff"), ("empty", b""))


@pytest.fixture(params=EACH_CLIENT)
def client(request: pytest.FixtureRequest) -> Client:
    return load(request.param)


def create(client: Client, broker: BrokerProcess, name: str, partitions: int = 1) -> Administering:
    admin = client.administer(broker.bootstrap)
    admin.create_topic(name, partitions)
    return admin


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_come_out_as_they_went_in(client: Client, broker: BrokerProcess, name: str, codec: str) -> None:
    create(client, broker, name, partitions=2).close()
    sent = [
        (b"plain", None, 0, ()),
        (None, b"a tombstone", 0, ()),
        (None, None if client.SENDS_EMPTY_RECORDS else b"", 0, HEADERS),
        (b"", b"", 0, ()),
        (b"with headers", b"key", 1, HEADERS),
        *((b"%d " % number * 20, b"%d" % number, number % 2, ()) for number in range(100)),
    ]
    producer = client.produce(broker.bootstrap, codec=codec)
    for number, (value, key, partition, headers) in enumerate(sent):
        producer.send(name, value, key=key, partition=partition, headers=headers, timestamp=LONG_AGO + number)
    places = producer.flush()
    producer.close()
    expected = [
        Received(partition, offset, LONG_AGO + number, key, value, headers)
        for number, ((value, key, _, headers), (partition, offset)) in enumerate(zip(sent, places, strict=True))
    ]
    assert [place for place in places if place[0] == 0] == [(0, offset) for offset in range(54)]
    consumer = client.consume(ConsumerSettings(broker.bootstrap, name))
    consumer.assign(0, 1)
    found = take(consumer, len(sent))
    consumer.close()
    for partition in (0, 1):
        assert [one for one in found if one.partition == partition] == [
            one for one in expected if one.partition == partition
        ]


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_large_records(client: Client, broker: BrokerProcess, name: str, codec: str) -> None:
    create(client, broker, name).close()
    values = [bytes((number,)) * 900_000 for number in range(5)]
    producer = client.produce(broker.bootstrap, codec=codec)
    for value in values:
        producer.send(name, value)
    assert producer.flush() == [(0, offset) for offset in range(5)]
    producer.close()
    consumer = client.consume(ConsumerSettings(broker.bootstrap, name))
    consumer.assign(0)
    assert [one.value for one in take(consumer, 5)] == values
    consumer.close()


def test_positions(client: Client, broker: BrokerProcess, name: str) -> None:
    """Seek by offset and by time, within a batch too; pause and resume; where a partition begins and ends."""
    create(client, broker, name, partitions=2).close()
    producer = client.produce(broker.bootstrap)
    for number in range(100):
        producer.send(name, b"%d" % number, timestamp=LONG_AGO + 10 * number)
    producer.send(name, b"other", partition=1, timestamp=LONG_AGO)
    producer.flush()
    producer.close()

    consumer = client.consume(ConsumerSettings(broker.bootstrap, name))
    consumer.assign(0, 1)
    assert (consumer.bounds(0), consumer.bounds(1)) == ((0, 100), (0, 1))
    take(consumer, 101)
    assert (consumer.position(0), consumer.position(1)) == (100, 1)

    times = (0, LONG_AGO + 370, LONG_AGO + 371, LONG_AGO + 990, LONG_AGO + 991)
    found = [consumer.offset_at(0, each) for each in times]
    assert found == [0, 37, 38, 99, None]
    consumer.seek(0, found[2] or 0)
    assert [one.offset for one in take(consumer, 62)] == list(range(38, 100))

    consumer.pause(0)
    consumer.seek(0, 90)
    consumer.seek(1, 0)
    assert [one.value for one in take(consumer, 1)] == [b"other"]
    consumer.seek(1, 0)
    assert [one.value for one in take(consumer, 1)] == [b"other"]
    consumer.resume(0)
    assert [one.offset for one in take(consumer, 10)] == list(range(90, 100))
    consumer.close()


def test_commits(client: Client, broker: BrokerProcess, name: str) -> None:
    """By hand, with metadata and without, and by itself; who comes later goes on from there."""
    admin = create(client, broker, name, partitions=2)
    producer = client.produce(broker.bootstrap)
    for number in range(20):
        producer.send(name, b"%d" % number, partition=number % 2)
    producer.flush()

    settings = ConsumerSettings(broker.bootstrap, name, group=name)
    first = client.consume(settings)
    first.subscribe()
    assert len(take(first, 20)) == 20
    assert first.committed(0) is None
    first.commit({0: Committed(3, "the third, or so")})
    assert (first.committed(0), first.committed(1)) == (Committed(3, "the third, or so"), None)
    assert admin.group_offsets(name) == {0: Committed(3, "the third, or so")}
    first.commit()
    assert [first.committed(each) for each in (0, 1)] == [Committed(10), Committed(10)]
    first.close()

    for number in range(6):
        producer.send(name, b"more %d" % number, partition=0)
    producer.flush()
    producer.close()
    by_itself = client.consume(ConsumerSettings(broker.bootstrap, name, group=name, auto_commit_ms=100))
    by_itself.subscribe()
    assert [one.offset for one in take(by_itself, 6)] == list(range(10, 16))

    def is_committed() -> bool:
        by_itself.poll(0.05)
        return admin.group_offsets(name) == {0: Committed(16), 1: Committed(10)}

    wait_until(is_committed, "the consumer to commit by itself")
    offsets = admin.group_offsets(name)
    assert [by_itself.bounds(each)[1] - offsets[each].offset for each in (0, 1)] == [0, 0]
    by_itself.close()
    admin.close()


def test_administration(client: Client, broker: BrokerProcess, name: str) -> None:
    admin = client.administer(broker.bootstrap)
    assert name not in admin.topics()
    admin.create_topic(name, 2, {"retention.ms": "86400000"})
    wait_until(lambda: name in admin.topics(), "the topic to come")
    assert admin.partitions(name) == 2

    producer = client.produce(broker.bootstrap)
    for number in range(10):
        producer.send(name, b"%d" % number)
    producer.flush()
    producer.close()

    member = client.consume(ConsumerSettings(broker.bootstrap, name, group=name))
    member.subscribe()
    take(member, 10)
    member.commit()
    assert name in admin.groups()
    assert admin.group_state(name) == ("stable", 1)
    assert admin.group_offsets(name)[0] == Committed(10)
    member.close()
    assert admin.group_state(name) == ("empty", 0)
    admin.delete_topic(name)
    wait_until(lambda: name not in admin.topics(), "the topic to go")
    admin.close()


def test_partitions_are_added(client: Client, broker: BrokerProcess, name: str) -> None:
    admin = create(client, broker, name, partitions=1)
    admin.add_partitions(name, 3)
    assert admin.partitions(name) == 3
    admin.close()
    producer = client.produce(broker.bootstrap)
    for number in range(3):
        producer.send(name, b"%d" % number, partition=number)
    assert producer.flush() == [(0, 0), (1, 0), (2, 0)]
    producer.close()


def test_configs(client: Client, broker: BrokerProcess, name: str) -> None:
    admin = client.administer(broker.bootstrap)
    admin.create_topic(name, 1, {"retention.ms": "86400000"})
    found = admin.config(name)
    assert (found["retention.ms"], found["cleanup.policy"], found["max.message.bytes"]) == (
        "86400000",
        "delete",
        "1048588",
    )
    admin.set_config(name, "retention.ms", "3600000")
    assert admin.config(name)["retention.ms"] == "3600000"
    admin.close()


# aiokafka has no request for either: see ADMIN_CANNOT.
@pytest.mark.parametrize("name_of_client", client_parameters("kafka-python", "confluent-kafka", JAVA))
def test_groups_are_reset_and_deleted(name_of_client: str, broker: BrokerProcess, name: str) -> None:
    admin = create(load(name_of_client), broker, name)
    admin.set_group_offset(name, name, 0, 7)
    assert admin.group_offsets(name) == {0: Committed(7)}
    assert name in admin.groups()
    admin.delete_group(name)
    assert name not in admin.groups()
    assert admin.group_offsets(name) == {}
    admin.close()


def test_records_are_deleted(client: Client, broker: BrokerProcess, name: str) -> None:
    admin = create(client, broker, name)
    producer = client.produce(broker.bootstrap)
    for number in range(10):
        producer.send(name, b"%d" % number)
    producer.flush()
    producer.close()
    assert admin.delete_records(name, 0, 4) == 4
    admin.close()
    consumer = client.consume(ConsumerSettings(broker.bootstrap, name))
    consumer.assign(0)
    assert consumer.bounds(0) == (4, 10)
    assert len(take(consumer, 6)) == 6
    consumer.seek(0, 1)  # what is gone is told, and the consumer begins where the rest begins
    assert [one.offset for one in take(consumer, 6)] == list(range(4, 10))
    consumer.close()
