"""What the metadata is told while a broker loads its logs, and replicas that come to one of which a disk has failed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.broker import node as node_module
from barnabas.broker.housekeeping.loading import load_logs
from barnabas.broker.node import Node
from barnabas.coordination.controller.delete_topics import delete_topics
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.storage.log_directory import TopicPartition
from tests.broker.controller_door.broker_requests import FakeBroker
from tests.broker.controller_door.door import ControllerNode
from tests.kafka.client import RawClient

from .asking import create, produce
from .running import RunningNode
from .test_alter_replica_log_dirs import values

ORDERS = TopicPartition("orders", 0)


async def delete(node: Node) -> None:
    request = DeleteTopicsRequest(topic_names=["orders"])
    await node.controller.decide(lambda controller, _: delete_topics(controller, request, 4))


def delete_while_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the next starts, when the logs are loaded and nobody has them yet."""

    async def load(node: Node) -> None:
        await load_logs(node)
        await delete(node)

    monkeypatch.setattr(node_module, "load_logs", load)


@pytest.fixture
def without_orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningNode]:
    """It had the topic when it began to load."""
    with RunningNode(tmp_path / "data") as node:
        with node.client() as client:
            create(client, "orders")
            produce(client, "orders", b"old")
        delete_while_loading(monkeypatch)
        node.restart()
        monkeypatch.undo()
        yield node


def test_a_topic_that_is_deleted_takes_its_log_with_it(without_orders: RunningNode) -> None:
    assert without_orders.do(lambda inside: inside.directories.find(ORDERS)) is None
    assert not (without_orders.directory / "orders-0").exists()


def test_a_topic_of_its_name_begins_with_nothing(without_orders: RunningNode) -> None:
    node = without_orders
    with node.client() as client:
        create(client, "orders")
        assert values(client) == []
        assert produce(client, "orders", b"new") == 0
    node.restart()
    with node.client() as client:
        assert values(client) == [b"new"]
    assert not list(node.directory.glob("*-stray"))


def reassign(client: RawClient, *replicas: int) -> None:
    partition = ReassignablePartition(partition_index=0, replicas=list(replicas))
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name="orders", partitions=[partition])], timeout_ms=5_000
    )
    answer = client.ask(request, 1, AlterPartitionReassignmentsResponse)
    assert answer.responses[0].partitions[0].error_code == 0


def test_a_replica_that_comes_goes_to_the_directory_that_is_left(tmp_path: Path) -> None:
    """Nothing of it can be in the one that has failed: it has never been here."""
    directories = f"{tmp_path / 'a'},{tmp_path / 'b'}"
    with ControllerNode(tmp_path, log_dirs=directories) as node, node.controller() as door, node.client() as client:
        cluster_id = node.do(lambda inside: inside.cluster_id)
        FakeBroker(door, cluster_id, 2).in_service()
        topic = CreatableTopic(
            name="orders",
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[2])],
        )
        answer = door.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 7, CreateTopicsResponse)
        assert answer.topics[0].error_code == 0
        node.do(lambda inside: inside.directories.take_offline((tmp_path / "b").resolve(), "pulled out"))
        reassign(client, 2, 1)
        node.until(lambda inside: inside.directories.find(ORDERS) is not None)
        assert node.do(lambda inside: inside.partitions.find(*ORDERS)) is not None
        assert (tmp_path / "a" / "orders-0").exists()
