"""Partitions that come to a node with records: what has to be made for them is known before they are applied."""

from __future__ import annotations

from barnabas.broker.arrivals import Arrival, arrivals
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.protocol.records.cluster_metadata import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from barnabas.protocol.schema import Data, Uuid
from barnabas.storage.log_directory import TopicPartition

ME, OTHER, THIRD = 2, 1, 3
OLD, NEW = Uuid(b"o" * 16), Uuid(b"n" * 16)
HERE, THERE = Uuid(b"h" * 16), Uuid(b"t" * 16)
TOPIC_CONFIG = 2


def image_with(*messages: Data) -> ClusterImage:
    image = ClusterImage()
    image.apply_batch([MetadataRecord(message) for message in messages], 0)
    return image


def partition(topic_id: Uuid, number: int, replicas: list[int], directories: list[Uuid]) -> PartitionRecord:
    return PartitionRecord(
        partition_id=number, topic_id=topic_id, replicas=replicas, isr=replicas, leader=0, directories=directories
    )


def config(topic: str, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=TOPIC_CONFIG, resource_name=topic, name=name, value=value)


def found(image: ClusterImage, *messages: Data) -> list[Arrival]:
    return arrivals([MetadataRecord(message) for message in messages], image, ME)


def test_those_of_a_new_topic() -> None:
    assert found(
        ClusterImage(),
        TopicRecord(name="new", topic_id=NEW),
        config("new", "segment.bytes", "1000"),
        config("new", "retention.ms", "5"),
        config("new", "retention.ms", None),
        partition(NEW, 0, [OTHER, ME], [THERE, HERE]),
        partition(NEW, 1, [OTHER, THIRD], [THERE, THERE]),
        partition(NEW, 2, [ME], []),
    ) == [
        Arrival(TopicPartition("new", 0), NEW, HERE, {"segment.bytes": "1000"}),
        Arrival(TopicPartition("new", 2), NEW, None, {"segment.bytes": "1000"}),
    ]


OLD_TOPIC = (
    TopicRecord(name="old", topic_id=OLD),
    config("old", "segment.bytes", "7"),
    partition(OLD, 0, [OTHER], [THERE]),
)


def test_those_of_a_topic_that_is_there() -> None:
    moves = PartitionChangeRecord(
        partition_id=0, topic_id=OLD, replicas=[OTHER, ME], adding_replicas=[ME], directories=[THERE, HERE]
    )
    assert found(image_with(*OLD_TOPIC), partition(OLD, 1, [ME], [HERE]), moves) == [
        Arrival(TopicPartition("old", 1), OLD, HERE, {"segment.bytes": "7"}),
        Arrival(TopicPartition("old", 0), OLD, HERE, {"segment.bytes": "7"}),
    ]


def test_who_leaves_again_does_not_come() -> None:
    leaves = PartitionChangeRecord(partition_id=1, topic_id=OLD, replicas=[OTHER], directories=[THERE])
    elected = PartitionChangeRecord(partition_id=0, topic_id=OLD, leader=OTHER)
    assert not found(image_with(*OLD_TOPIC), partition(OLD, 1, [ME], [HERE]), leaves, elected)
    assert not found(
        ClusterImage(),
        TopicRecord(name="new", topic_id=NEW),
        partition(NEW, 0, [ME], [HERE]),
        RemoveTopicRecord(topic_id=NEW),
    )


def test_the_image_may_have_the_records_already() -> None:
    new = (TopicRecord(name="new", topic_id=NEW), config("new", "a", "b"), partition(NEW, 0, [ME], [HERE]))
    assert found(image_with(*new), *new) == [Arrival(TopicPartition("new", 0), NEW, HERE, {"a": "b"})]
