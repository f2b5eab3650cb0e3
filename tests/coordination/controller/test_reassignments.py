"""Reassignments that are odd in themselves; what Kafka says of others is in test_life_against_kafka.py."""

from __future__ import annotations

import pytest

from barnabas.coordination.controller.reassignments import alter_partition_reassignments
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.coordination.controller.scene import Scene

ONE = ReassignablePartition(partition_index=0, replicas=[1, 2, 3])
OTHER = ReassignablePartition(partition_index=0, replicas=[2, 1])


@pytest.mark.parametrize(
    "topics",
    [
        [ReassignableTopic(name="orders", partitions=[ONE, OTHER])],
        [ReassignableTopic(name="orders", partitions=[ONE]), ReassignableTopic(name="orders", partitions=[OTHER])],
    ],
    ids=["partition twice", "topic twice"],
)
def test_a_partition_goes_where_it_is_first_said_to(topics: list[ReassignableTopic]) -> None:
    """Kafka decides both on the same state, and stops where the second cannot follow the first."""
    scene = Scene()
    for broker in (1, 2, 3):
        scene.broker(broker, directories=2)
    scene.topic("orders", [1, 2])
    request = AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=5_000)
    reply = scene.decide(alter_partition_reassignments, request)
    codes = [one.error_code for topic in reply.responses for one in topic.partitions]
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert scene.controller.image.topics.by_name["orders"].partitions[0].replicas == (1, 2, 3)


def test_said_twice_it_is_done_once() -> None:
    scene = Scene()
    for broker in (1, 2, 3):
        scene.broker(broker)
    scene.topic("orders", [1, 2])
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name="orders", partitions=[ONE, ONE])], timeout_ms=5_000
    )
    reply = scene.decide(alter_partition_reassignments, request)
    assert [one.error_code for one in reply.responses[0].partitions] == [ErrorCode.NONE] * 2
    assert len(scene.written) == 1
