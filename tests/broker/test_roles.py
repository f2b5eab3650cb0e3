"""What the metadata makes of this node's replica: it leads, follows, and is told of both in the order that counts."""

from __future__ import annotations

from pathlib import Path

from barnabas.broker.node import Node
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.directory_ids import UNASSIGNED
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.records.cluster_metadata import PartitionChangeRecord
from tests.kafka.client import RawClient

from .asking import create, produce
from .running import RunningNode

ANOTHER, NOBODY = 9, -1
WITH_DIRECTORIES = 1


def _make_leader(node: Node, leader: int) -> None:
    topic = node.image.topics.by_name["orders"]
    change = PartitionChangeRecord(
        partition_id=0,
        topic_id=topic.id,
        leader=leader,
        replicas=[node.node_id, ANOTHER],
        directories=[topic.partitions[0].directory(node.node_id), UNASSIGNED],
    )

    def decide(_controller: Controller, _now_ms: int) -> Outcome[MetadataRecord, None]:
        return Outcome([MetadataRecord(change, WITH_DIRECTORIES)], None)

    node.start_soon(node.controller.decide, decide)


def _latest(client: RawClient) -> tuple[ErrorCode, int]:
    asked = ListOffsetsTopic(name="orders", partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    (answer,) = client.ask(ListOffsetsRequest(topics=[asked]), 7, ListOffsetsResponse).topics[0].partitions
    return ErrorCode(answer.error_code), answer.offset


def test_a_replica_leads_and_follows_as_the_metadata_says(tmp_path: Path) -> None:
    with RunningNode(tmp_path / "data") as node, node.client() as client:
        create(client, "orders")
        produce(client, "orders", b"one", b"two")
        told: list[str] = []

        def listen(inside: Node) -> None:
            partitions = inside.partitions
            partitions.on_lead.append(lambda one: told.append(f"leads in {one.leader_epoch}"))
            partitions.on_follow.append(lambda one: told.append(f"follows {one.leader} in {one.leader_epoch}"))
            partitions.on_resign.append(lambda _one: told.append("resigns"))

        node.do(listen)
        me = node.do(lambda inside: inside.node_id)
        for leader in (ANOTHER, NOBODY, me):
            epoch = node.do(lambda inside: inside.partition("orders", 0).leader_epoch)
            node.do(lambda inside, leader=leader: _make_leader(inside, leader))  # type: ignore[misc]
            node.until(lambda inside, before=epoch: inside.partition("orders", 0).leader_epoch > before)  # type: ignore[misc]
            if leader != me:
                assert _latest(client)[0] == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert told == ["resigns", "follows 9 in 1", "follows -1 in 2", "leads in 3"]
        assert _latest(client) == (ErrorCode.NONE, 2)
