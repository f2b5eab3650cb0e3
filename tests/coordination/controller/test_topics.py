"""Topics and partitions: who may, how many, where, and in which order it is written."""

from __future__ import annotations

import pytest

from barnabas.coordination.controller.create_partitions import create_partitions
from barnabas.coordination.controller.create_topics import create_topics
from barnabas.coordination.controller.delete_topics import delete_topics
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.protocol.schema import Uuid
from tests.coordination.controller.scene import Scene, directory


def new(name: str, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name, 1, 1, configs=[CreatableTopicConfig(key.replace("_", "."), configs[key]) for key in configs]
    )


def codes(reply: object) -> dict[str, str]:
    results = getattr(reply, "topics", None) or getattr(reply, "responses", None) or reply.results  # type: ignore[attr-defined]
    return {result.name: ErrorCode(result.error_code).name for result in results}


def test_records_of_a_topic_stand_in_kafkas_order() -> None:
    scene = Scene()
    scene.broker(1)
    request = CreateTopicsRequest(topics=[new("t", min_insync_replicas="2", retention_ms="7")])
    scene.decide(create_topics, request, topic_ids=scene.ids, seed=0)
    assert [line.split(" (")[0] for line in scene.lines()] == [
        "Topic v0",
        "Config v0",
        "Config v0",
        "ClearElr v0",
        "Partition v2",
    ]


def test_who_may_not_create_or_see() -> None:
    scene = Scene()
    scene.broker(1)
    request = CreateTopicsRequest(topics=[new("mine"), new("yours"), new("__cluster_metadata")])
    reply = scene.decide(
        create_topics,
        request,
        topic_ids=scene.ids,
        seed=0,
        may_create=lambda name: name == "mine",
        may_describe_configs=lambda _: False,
    )
    assert codes(reply) == {
        "mine": "NONE",
        "yours": "TOPIC_AUTHORIZATION_FAILED",
        "__cluster_metadata": "INVALID_REQUEST",
    }
    assert reply.topics[0].topic_config_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert (reply.topics[0].configs, reply.topics[0].num_partitions) == ([], -1)


def test_who_has_created_too_much() -> None:
    scene = Scene()
    scene.broker(1)

    def admit(partitions: int) -> None:
        asked.append(partitions)
        if len(asked) == 2:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)

    asked: list[int] = []
    request = CreateTopicsRequest(topics=[new("a"), new("b"), new("c", no_such="1"), new("d")])
    reply = scene.decide(create_topics, request, topic_ids=scene.ids, seed=0, admit=admit)
    assert codes(reply) == {"a": "NONE", "b": "THROTTLING_QUOTA_EXCEEDED", "c": "INVALID_CONFIG", "d": "NONE"}
    assert asked == [1, 1, 1]
    assert list(scene.controller.image.topics.by_name) == ["a", "d"]
    asked[:] = [0]
    reply = scene.decide(delete_topics, DeleteTopicsRequest(topic_names=["a", "d"]), 5, admit=admit)
    assert codes(reply) == {"a": "THROTTLING_QUOTA_EXCEEDED", "d": "NONE"}
    asked[:] = [0]
    grown = CreatePartitionsRequest(topics=[CreatePartitionsTopic("a", 4, None)])
    assert codes(scene.decide(create_partitions, grown, seed=0, admit=admit)) == {"a": "THROTTLING_QUOTA_EXCEEDED"}
    assert asked == [0, 3]


def test_topics_that_one_may_not_delete_or_see() -> None:
    scene = Scene()
    scene.broker(1)
    for name in ("mine", "seen", "hidden"):
        scene.topic(name, [1])
    ids = {topic.name: topic.id for topic in scene.controller.image.topics}
    states = [DeleteTopicState(topic_id=topic_id) for topic_id in ids.values()]
    named = [DeleteTopicState(name="never")]
    reply = scene.decide(
        delete_topics,
        DeleteTopicsRequest(topics=[*states, *named]),
        6,
        may_describe=lambda name: name in ("mine", "seen"),
        may_delete=lambda name: name == "mine",
    )
    assert [(result.name, ErrorCode(result.error_code).name) for result in reply.responses] == [
        ("seen", "TOPIC_AUTHORIZATION_FAILED"),
        (None, "TOPIC_AUTHORIZATION_FAILED"),
        ("never", "TOPIC_AUTHORIZATION_FAILED"),
        ("mine", "NONE"),
    ]


@pytest.mark.parametrize(("version", "code"), [(1, "INVALID_REQUEST"), (3, "TOPIC_DELETION_DISABLED")])
def test_nothing_is_deleted_where_that_is_switched_off(version: int, code: str) -> None:
    scene = Scene(delete_topic_enable=False)
    scene.broker(1)
    scene.topic("t", [1])
    reply = scene.decide(delete_topics, DeleteTopicsRequest(topic_names=["t", "never"]), version)
    assert codes(reply) == {"t": code, "never": code}
    assert not scene.written
    by_id = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=Uuid(range(16)))])
    assert scene.decide(delete_topics, by_id, 6).responses[0].topic_id == Uuid(range(16))


def test_partitions_that_one_may_not_add_and_too_many() -> None:
    scene = Scene()
    scene.broker(1)
    scene.topic("mine", [1])
    scene.topic("yours", [1])
    wanted = [CreatePartitionsTopic("mine", 10_002, None), CreatePartitionsTopic("yours", 2, None)]
    reply = scene.decide(
        create_partitions, CreatePartitionsRequest(topics=wanted), seed=0, may_alter=lambda name: name == "mine"
    )
    assert codes(reply) == {"mine": "POLICY_VIOLATION", "yours": "TOPIC_AUTHORIZATION_FAILED"}
    assert not scene.written


def test_defaults_of_the_node() -> None:
    scene = Scene(default_partitions=3, default_replication_factor=2)
    scene.broker(1)
    scene.broker(2, directories=2)
    request = CreateTopicsRequest(topics=[CreatableTopic("t", -1, -1)])
    reply = scene.decide(create_topics, request, topic_ids=scene.ids, seed=5)
    assert (reply.topics[0].num_partitions, reply.topics[0].replication_factor) == (3, 2)
    for number in range(3):
        partition = scene.partition("t", number)
        directories = dict(zip(partition.replicas, partition.directories, strict=True))
        assert directories[1] == directory(1)
        assert directories[2] == Uuid((1).to_bytes(16, "big")), "with two directories the broker chooses"
