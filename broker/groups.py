"""Where groups are asked for. Their coordinator, and all that it decides with, is loaded with the first of them: when a
partition of __consumer_offsets is led here, or a request about groups comes. A start without any does not wait for it.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any

import trio

from barnabas.broker.auto_creation import OFFSETS_TOPIC
from barnabas.broker.call import Call
from barnabas.protocol.schema import Message, Uuid
from barnabas.replication.partition import Partition

if TYPE_CHECKING:
    from barnabas.broker.group_coordinator import GroupCoordinator
    from barnabas.broker.node import Node

__all__ = ["Groups"]


class Groups:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._coordinator: GroupCoordinator | None = None
        self._is_loaded = trio.Event()

    @property
    def partition_count(self) -> int:
        """Of __consumer_offsets; 0 before it is there."""
        topic = self._node.image.topics.by_name.get(OFFSETS_TOPIC)
        return 0 if topic is None else len(topic.partitions)

    def lead(self, partition: Partition) -> None:
        """Told of every partition that begins to be led, or is led in a new epoch."""
        if partition.name.topic == OFFSETS_TOPIC:
            self._load().lead(partition)

    def resign(self, partition: Partition) -> None:
        if self._coordinator is not None and partition.name.topic == OFFSETS_TOPIC:
            self._coordinator.resign(partition)

    def handle(self, call: Call, request: Message) -> Message | Coroutine[Any, Any, Message]:
        """What the broker itself refuses has been taken out of the request before."""
        return self._load().handle(call, request)

    def topics_deleted(self, topic_ids: Mapping[str, Uuid]) -> None:
        """What was committed for them goes."""
        if self._coordinator is not None:
            self._coordinator.topics_deleted(topic_ids)

    async def run(self) -> None:
        await self._is_loaded.wait()
        await self._load().run()

    def _load(self) -> GroupCoordinator:
        if self._coordinator is None:
            from barnabas.broker.group_coordinator import GroupCoordinator

            self._coordinator = GroupCoordinator(self._node, self)
            self._is_loaded.set()
        return self._coordinator
