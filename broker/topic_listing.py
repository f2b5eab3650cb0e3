"""What a client is told of a partition's replicas, as they look from the listener that it came in by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.partition import NO_LEADER, Partition
from barnabas.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["TopicListing", "java_name_order"]


def java_name_order(name: str) -> bytes:
    """Java compares texts by their units of 16 bits."""
    return name.encode("utf-16-be", "surrogatepass")


class TopicListing:
    def __init__(self, node: Node, call: Call) -> None:
        self._brokers = node.image.brokers
        self._listener = call.connection.listener

    def _is_reachable(self, broker: BrokerRegistration) -> bool:
        return any(endpoint.name == self._listener for endpoint in broker.endpoints)

    def leader(self, state: Partition) -> int:
        broker = self._brokers.get(state.leader)
        return state.leader if broker is not None and self._is_reachable(broker) else NO_LEADER

    def leader_error(self, state: Partition) -> ErrorCode:
        """Why there is none to be told of."""
        if self.leader(state) != NO_LEADER:
            return ErrorCode.NONE
        return ErrorCode.LISTENER_NOT_FOUND if state.leader in self._brokers else ErrorCode.LEADER_NOT_AVAILABLE

    def offline(self, state: Partition) -> list[int]:
        return [
            replica
            for replica, directory in zip(state.replicas, state.directories, strict=True)
            if (broker := self._brokers.get(replica)) is None
            or broker.fenced
            or not self._is_reachable(broker)
            or not broker.is_online(directory)
        ]

    def without_unreachable(self, replicas: tuple[int, ...]) -> list[int]:
        """Version 0 of Metadata knows of no offline replicas."""
        return [
            replica
            for replica in replicas
            if (broker := self._brokers.get(replica)) is not None and not broker.fenced and self._is_reachable(broker)
        ]
