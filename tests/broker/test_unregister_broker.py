"""A node whose broker was unregistered still stops, and is itself again at its next start."""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from tests.kafka.client import RawClient

from .asking import create, produce
from .running import RunningNode


def unregister(client: RawClient, broker_id: int) -> int:
    return client.ask(UnregisterBrokerRequest(broker_id=broker_id), 0, UnregisterBrokerResponse).error_code


def test_a_node_that_was_unregistered_stops_and_starts(node: RunningNode) -> None:
    with node.client() as client:
        create(client, "orders")
        produce(client, "orders", b"one")
        assert unregister(client, 1) == 0
        assert unregister(client, 1) == ErrorCode.BROKER_ID_NOT_REGISTERED
    node.restart()
    with node.client() as client:
        answer = client.ask(DescribeClusterRequest(), 1, DescribeClusterResponse)
        assert [broker.broker_id for broker in answer.brokers] == [1]
        assert produce(client, "orders", b"two") == 1
