"""A controller that has decided what nobody can apply: it ends, and its log is as if it had not."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.broker.node import Node, NodeFailed
from barnabas.coordination.cluster.records import MetadataRecord, UnreplayableRecord
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.cluster_metadata import PartitionRecord, TopicRecord
from barnabas.protocol.schema import Uuid

from .asking import create, produce
from .running import RunningNode
from .test_alter_replica_log_dirs import values

TOPIC_ID = Uuid([9] * 16)
UNREPLAYABLE: list[MetadataRecord] = [
    MetadataRecord(TopicRecord(name="broken", topic_id=TOPIC_ID)),
    MetadataRecord(
        PartitionRecord(topic_id=TOPIC_ID, replicas=[1], isr=[1], leader=1, directories=[TOPIC_ID, TOPIC_ID]), 1
    ),
]


async def decide(node: Node) -> None:
    with pytest.raises(UnreplayableRecord):
        await node.controller.decide(lambda *_: Outcome(UNREPLAYABLE, None))
    with pytest.raises(KafkaError) as refused:
        await node.controller.decide(lambda *_: Outcome([], None))
    assert refused.value.code == ErrorCode.NOT_CONTROLLER


def test_it_ends_and_its_log_is_as_if_it_had_not(tmp_path: Path) -> None:
    with (
        pytest.raises(NodeFailed, match="its controller cannot apply what it has decided"),
        RunningNode(tmp_path / "data") as node,
    ):
        with node.client() as client:
            create(client, "orders")
            produce(client, "orders", b"here")
        node.carry_out(decide)
    with RunningNode(tmp_path / "data") as node, node.client() as client:
        assert values(client) == [b"here"]
        create(client, "others")
        assert produce(client, "others", b"goes on") == 0
