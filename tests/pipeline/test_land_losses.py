"""Topics that change under land: records gone, topics deleted and made again, partitions added, offsets with holes."""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from barnabas.pipeline.failures import PipelineFailed
from tests.kafka.broker import KafkaBroker
from tests.pipeline.world import World

pytestmark = pytest.mark.slow

GO_ON = "fail-on-data-loss = false"


def admin(world: World) -> AdminClient:
    return AdminClient({"bootstrap.servers": world.broker.bootstrap_servers})


def delete_records(world: World, before: int) -> None:
    where = TopicPartition(world.topic, 0, before)
    client = admin(world)  # which must live until it has answered
    client.delete_records([where])[where].result(30)


def test_retention_that_has_passed_the_reader(world: World) -> None:
    world.produce(range(100))
    world.land()
    world.produce(range(100, 200))
    whole = world.in_topic()
    delete_records(world, 150)
    with pytest.raises(PipelineFailed) as failed:
        world.land()
    assert f"{world.topic}-0" in str(failed.value)
    assert GO_ON in str(failed.value)
    assert world.raw() == whole[:100]
    world.land(world.settings(land=GO_ON))
    assert world.raw() == whole[:100] + whole[150:]


def test_a_topic_that_was_deleted(world: World) -> None:
    world.produce(range(100))
    world.land()
    landed = world.raw()
    world.broker.delete_topic(world.topic)
    with pytest.raises(PipelineFailed, match=r"is not there|is gone|are gone"):
        world.land()
    assert world.raw() == landed


def test_a_topic_that_is_named_is_missed_also_without_fail_on_data_loss(world: World) -> None:
    world.produce(range(10))
    world.land()
    world.broker.delete_topic(world.topic)
    with pytest.raises(PipelineFailed, match="create it, or take it out of the settings"):
        world.land(world.settings(land=GO_ON))


def test_a_topic_of_a_pattern_that_was_deleted(world: World) -> None:
    gone, stays = f"{world.topic}.gone", f"{world.topic}.stays"
    pattern = f"pattern = '{world.topic}\\..*'\n"
    world.broker.produce(gone, 1)
    world.broker.produce(stays, 1)
    world.land(world.settings(land=pattern))
    world.broker.delete_topic(gone)
    world.broker.produce(stays, 2)
    with pytest.raises(PipelineFailed, match=f"^{gone}-0: the topic was deleted.* {GO_ON}"):
        world.land(world.settings(land=pattern))
    world.land(world.settings(land=pattern + GO_ON))
    assert [row.value for row in world.raw(stays)] == [b"1", b"2"]
    assert [row.value for row in world.raw(gone)] == [b"1"]


def test_a_topic_that_was_deleted_and_made_again(world: World) -> None:
    world.produce(range(100), timestamp=int(time.time() * 1000) - 60_000)
    world.land()
    before = world.raw()
    world.broker.delete_topic(world.topic)
    world.produce(range(30))
    with pytest.raises(PipelineFailed, match=f"{world.topic}-0 .*(deleted and created again|any more)") as failed:
        world.land()
    assert GO_ON in str(failed.value)
    assert world.raw() == before
    world.land(world.settings(land=GO_ON))
    world.produce(range(30, 60))
    world.land(world.settings(land=GO_ON))
    # Which of the new topic's first records are seen is Spark's to say: what is written from then on is landed.
    landed = world.raw()
    assert [row for row in landed if row in before] == before
    assert [row for row in landed if row not in before][-30:] == world.in_topic()[30:]


def test_partitions_that_are_added(world: World) -> None:
    world.broker.create_topic(world.topic, 1)
    world.produce(range(10))
    world.land()
    client = admin(world)
    client.create_partitions([NewPartitions(world.topic, 3)])[world.topic].result(30)
    for partition in range(3):
        world.produce(range(5), partition=partition)
    world.land()
    assert world.raw() == world.in_topic()
    assert {row.partition for row in world.raw()} == {0, 1, 2}


def test_holes_that_compaction_has_left(world: World) -> None:
    """Every other record is a hole, and so is the whole end but one."""
    world.broker.create_topic(
        world.topic,
        1,
        {
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": "0.001",
            "segment.bytes": "1048576",
            "max.compaction.lag.ms": "1",
        },
    )
    for number in range(400):
        world.produce([b"x" * 3_000], key=f"key {number % 20}")
    world.produce([b"x" * 300_000], key="other")
    deadline = time.monotonic() + 30
    while len(world.in_topic()) == 401 and time.monotonic() < deadline:
        world.broker.clock.advance(minutes=1)
    there = world.in_topic()
    assert there[0].offset > 0, "compaction has left no hole"
    world.land(world.settings(land="records-per-batch = 50"))
    assert world.raw() == there
    world.produce(range(10), key="new")
    world.land(world.settings())
    assert world.raw()[-10:] == world.in_topic()[-10:]


@pytest.mark.java
def test_markers_of_transactions_and_aborted_records(world: World, kafka_broker: KafkaBroker) -> None:
    """On Apache Kafka. What is not committed is not landed, and the offsets of markers are no loss."""
    from confluent_kafka import Consumer, Producer

    bootstrap = f"{kafka_broker.host}:{kafka_broker.port}"
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": world.topic})
    producer.init_transactions(30)
    for number in range(12):
        producer.begin_transaction()
        for each in range(5):
            producer.produce(world.topic, f"{number}.{each}", key=f"{number}", partition=0)
        producer.flush(30)
        if number % 3 == 2:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)
    settings = world.settings(
        bootstrap=bootstrap, kafka='"isolation.level" = "read_committed"', land="records-per-batch = 7"
    )
    world.land(settings)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "x", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(world.topic, 0, 0)])
    expected: list[Any] = []
    while len(expected) < 40:
        message = consumer.poll(10)
        assert message is not None, f"only {len(expected)} came"
        expected.append((message.offset(), message.value()))
    consumer.close()
    assert [(row.offset, row.value) for row in world.raw()] == expected
    assert expected[-1][0] > 40  # there are holes
    world.land(settings)
    assert len(world.raw()) == 40
