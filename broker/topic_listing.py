"""What a client is told of a partition's replicas, as they look from the listener that it came in by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.call import Call
from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.partition import NO_LEADER, Partition
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.metadata import MetadataResponsePartition
from barnabas.protocol.schema import Kept, Uuid

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Asked", "KeptListings", "TopicListing", "java_name_order"]


def java_name_order(name: str) -> bytes:
    """Java compares texts by their units of 16 bits."""
    return name.encode("utf-16-be", "surrogatepass")


class Seen(NamedTuple):
    """What many partitions have in common: they are on the same brokers, and the same one leads."""

    leader: int
    error: ErrorCode
    """Why there is no leader to be told of."""
    replicas: list[int]
    in_sync: list[int]
    offline: list[int]


class TopicListing:
    """For one answer: as long as it is made, the metadata stays what it is."""

    def __init__(self, node: Node, call: Call) -> None:
        self._brokers = node.image.brokers
        self._listener = call.connection.listener
        self._seen: dict[tuple[object, ...], Seen] = {}

    def seen(self, state: Partition) -> Seen:
        key = state.leader, state.replicas, state.isr, state.directories
        seen = self._seen.get(key)
        if seen is None:
            leader = self._leader(state.leader)
            error = ErrorCode.NONE if leader != NO_LEADER else self._why_nobody(state.leader)
            seen = Seen(leader, error, list(state.replicas), list(state.isr), self._offline(state))
            self._seen[key] = seen
        return seen

    def _is_reachable(self, broker: BrokerRegistration) -> bool:
        return any(endpoint.name == self._listener for endpoint in broker.endpoints)

    def _leader(self, leader: int) -> int:
        broker = self._brokers.get(leader)
        return leader if broker is not None and self._is_reachable(broker) else NO_LEADER

    def _why_nobody(self, leader: int) -> ErrorCode:
        return ErrorCode.LISTENER_NOT_FOUND if leader in self._brokers else ErrorCode.LEADER_NOT_AVAILABLE

    def _offline(self, state: Partition) -> list[int]:
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


class Asked(NamedTuple):
    """What the list of a topic's partitions depends on, beside the metadata."""

    topic_id: Uuid
    listener: str
    version: int


class KeptListings:
    """Lists of partitions that have been told, for whoever asks next: they are the same as long as the metadata is."""

    def __init__(self, most: int) -> None:
        """`most` partitions in all lists, of which each takes some 300 bytes."""
        self._most = most
        self._offset = -1
        """Of the metadata that they are made of."""
        self._lists: dict[Asked, Kept[MetadataResponsePartition]] = {}
        self.held = 0
        """Partitions in them."""

    def get(
        self, offset: int, asked: Asked, make: Callable[[], Iterable[MetadataResponsePartition]]
    ) -> Kept[MetadataResponsePartition]:
        if offset != self._offset:
            self._forget()
            self._offset = offset
        found = self._lists.get(asked)
        if found is None:
            found = Kept(make())
            self.held += len(found)
            if self.held > self._most:
                self._forget()
                self.held = len(found)
            self._lists[asked] = found
        return found

    def _forget(self) -> None:
        self._lists.clear()
        self.held = 0
