"""Telling the controller in which of its directories this broker has its replicas, where it does not know: so that it
finds the partitions of one that fails. With one directory it knows by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)
from barnabas.protocol.schema import Uuid
from barnabas.replication.partition import Partition
from barnabas.storage.log_directory import LogDirectory

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Assignments"]

PARTITIONS_AT_ONCE = 2_250
"""As many as Kafka sends in one request."""

_TRY_AGAIN_MS = 1_000


class Assignments:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._open: dict[Partition, LogDirectory | None] = {}
        self._wake = trio.Event()

    def look(self, partition: Partition) -> None:
        """After it was opened, or moved to another directory."""
        self._open[partition] = None
        self._wake.set()

    def tell(self, partition: Partition, directory: LogDirectory) -> None:
        """It is in this one, which may have failed, whatever the metadata says as far as this node has read it."""
        self._open[partition] = directory
        self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            while self._open:
                request, told = self._request()
                if told and not await self._send(request):
                    await self._node.clock.sleep(_TRY_AGAIN_MS)
                    # What was said meanwhile is newer.
                    self._open = {**told, **self._open}

    def _request(self) -> tuple[AssignReplicasToDirsRequest, dict[Partition, LogDirectory | None]]:
        """Of some of those that are waiting, taken off the list."""
        found: dict[Uuid, dict[Uuid, list[int]]] = {}
        told: dict[Partition, LogDirectory | None] = {}
        while self._open and len(told) < PARTITIONS_AT_ONCE:
            partition, directory = self._open.popitem()
            directory_id = self._unknown_directory(partition) if directory is None else directory.id
            if directory_id is not None:
                told[partition] = directory
                numbers = found.setdefault(directory_id, {}).setdefault(partition.topic_id, [])
                numbers.append(partition.name.partition)
        directories = [
            DirectoryData(
                id=directory_id,
                topics=[
                    TopicData(topic_id=topic, partitions=[PartitionData(partition_index=number) for number in numbers])
                    for topic, numbers in topics.items()
                ],
            )
            for directory_id, topics in found.items()
        ]
        node = self._node
        request = AssignReplicasToDirsRequest(
            broker_id=node.node_id, broker_epoch=node.broker_epoch, directories=directories
        )
        return request, told

    def _unknown_directory(self, partition: Partition) -> Uuid | None:
        """Where it is, if the metadata says something else."""
        node = self._node
        replica = node.directories.find(partition.name)
        state = node.image.topics.partition(partition.topic_id, partition.name.partition)
        if replica is None or replica.log is not partition.log or state is None or replica.directory.meta is None:
            return None
        directory_id = replica.directory.meta.directory_id
        return directory_id if directory_id != state.directory(node.node_id) else None

    async def _send(self, request: AssignReplicasToDirsRequest) -> bool:
        try:
            answer = await self._node.controller_link.ask(request, AssignReplicasToDirsResponse)
        except KafkaError as error:
            self._node.warn(f"the controller was not told in which directories replicas are: {error}")
            return False
        return not answer.error_code
