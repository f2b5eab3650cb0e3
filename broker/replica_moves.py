"""Logs that move to another directory of this node (AlterReplicaLogDirs), copied a little at a time by one task.

A copy that has caught up is first assigned to its directory in the metadata, and then takes the log's place: so that a
node that dies between the two knows at its next start which of them counts.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)
from barnabas.protocol.schema import Uuid
from barnabas.replication.partition import Partition
from barnabas.storage.durability import Durability
from barnabas.storage.log import Log
from barnabas.storage.log_directories import Replica
from barnabas.storage.log_directory import LogDirectory, TopicPartition
from barnabas.storage.replica_copies import copy_some, is_caught_up
from barnabas.storage.replica_moves import abort_move, begin_move, finish_move
from barnabas.storage.throttle import Throttle

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["ReplicaMoves"]

STEP_BYTES = 256 * 1024
"""So much is copied before anybody else gets a turn."""
SYNCS_IN_A_THREAD = 3
"""Where records come faster than they are synced, the last few are synced while nobody can append."""
UNLIMITED = 2**63 - 1


class ReplicaMoves:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._moving: dict[TopicPartition, Partition] = {}
        self._assigned: dict[TopicPartition, Uuid] = {}
        """Where the metadata already has those whose copies have caught up."""
        self._to_take_back: dict[TopicPartition, Partition] = {}
        """Those whose move was given up after that."""
        self._throttle = Throttle(None)
        self._wake = trio.Event()

    # What the API asks

    def begin(self, name: TopicPartition, path: Path) -> None:
        """KafkaError says why not. Where the log lies, or moves to, already, nothing is begun; a move to elsewhere is
        given up."""
        node = self._node
        before = node.directories.find(name, future=True)
        config = node.topic_config(name.topic)
        begin_move(node.directories, name, path, config, node.clock.now_ms(), self._unique())
        now = node.directories.find(name, future=True)
        if before is not None and (now is None or now.log is not before.log):
            self._forget(name)
        if now is not None:
            partition = node.partition(*name)
            self._moving[name] = partition
        self._wake.set()

    def resume(self) -> None:
        """After a start: copies that lie there were being made."""
        for directory in self._node.directories.online:
            for name in directory.futures:
                partition = self._node.partitions.find(*name)
                if partition is not None:
                    self._moving[name] = partition
        self._wake.set()

    def resigned(self, partition: Partition) -> None:
        """If it was deleted, so is its copy."""
        if partition.name in self._moving and self._node.partitions.find(*partition.name) is None:
            self._give_up(partition.name)
            self._to_take_back.pop(partition.name, None)

    def _unique(self) -> str:
        return self._node.random_bytes(16).hex()

    def _forget(self, name: TopicPartition) -> None:
        partition = self._moving.pop(name, None)
        if self._assigned.pop(name, None) is not None and partition is not None:
            self._to_take_back[name] = partition

    def _give_up(self, name: TopicPartition) -> None:
        self._forget(name)
        try:
            abort_move(self._node.directories, name, self._unique())
        except KafkaError as error:
            self._node.warn(f"the copy of {name} is not removed: {error}")
        else:
            self._node.housekeeping.removal.look()

    # The task

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            for name, partition in list(self._to_take_back.items()):
                await self._take_back(name, partition)
            for name, partition in list(self._moving.items()):
                if self._moving.get(name) is not partition:
                    continue
                try:
                    await self._step(name, partition)
                except KafkaError as error:
                    self._node.report(f"{name} does not move to another directory: {error}")
                    self._give_up(name)
            if not self._moving and not self._to_take_back:
                self._wake = trio.Event()

    async def _step(self, name: TopicPartition, partition: Partition) -> None:
        node = self._node
        future = node.directories.find(name, future=True)
        if future is None or node.partitions.find(*name) is not partition:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the log or its copy is gone")
        copied = self._copy(partition, future, STEP_BYTES)
        if copied:
            await trio.sleep(self._pause_ms(copied) / 1000)
        elif self._is_assigned(name, future.directory):
            async with self._not_compacted(name):
                if self._moving.get(name) is partition:
                    await self._finish(name, partition, future)
        else:
            await self._assign(name, partition, future.directory)
            if self._moving.get(name) is partition:
                self._assigned[name] = _id_of(future.directory)

    def _copy(self, partition: Partition, future: Replica, max_bytes: int) -> int:
        with self._node.directories.watching(future.directory):
            return copy_some(partition.log, future.log, max_bytes, self._node.clock.now_ms())

    def _pause_ms(self, copied: int) -> int:
        limit = self._node.config.replica_alter_log_dirs_io_max_bytes_per_second
        self._throttle.bytes_per_second = None if limit >= UNLIMITED else max(limit, 1)
        return self._throttle.wait_ms(copied, trio.current_time() * 1000)

    def _is_assigned(self, name: TopicPartition, directory: LogDirectory) -> bool:
        state = self._node.image.topics.partition(self._topic_id(name), name.partition)
        return state is not None and state.directory(self._node.node_id) == _id_of(directory)

    def _topic_id(self, name: TopicPartition) -> Uuid:
        return self._node.partition(*name).topic_id

    async def _assign(self, name: TopicPartition, partition: Partition, directory: LogDirectory) -> None:
        node = self._node
        topic = TopicData(topic_id=partition.topic_id, partitions=[PartitionData(partition_index=name.partition)])
        request = AssignReplicasToDirsRequest(
            broker_id=node.node_id,
            broker_epoch=node.broker_epoch,
            directories=[DirectoryData(id=_id_of(directory), topics=[topic])],
        )
        answer = await node.controller_link.ask(request, AssignReplicasToDirsResponse)
        codes = [
            answer.error_code,
            *(one.error_code for each in answer.directories for part in each.topics for one in part.partitions),
        ]
        if any(codes):
            raise KafkaError(ErrorCode(max(codes)), "the controller does not take note of its directory")

    async def _take_back(self, name: TopicPartition, partition: Partition) -> None:
        self._to_take_back.pop(name, None)
        current = self._node.directories.find(name)
        if current is not None and self._node.partitions.find(*name) is partition:
            try:
                await self._assign(name, partition, current.directory)
            except KafkaError as error:
                self._node.report(f"{name} stays in {current.directory.path}: {error}")

    def _not_compacted(self, name: TopicPartition) -> AbstractAsyncContextManager[None]:
        """Nobody shall put compacted segments into a log that goes away meanwhile."""
        compaction = self._node.housekeeping.compaction
        return nullcontext() if compaction is None else compaction.paused(name)

    async def _finish(self, name: TopicPartition, partition: Partition, future: Replica) -> None:
        for _ in range(SYNCS_IN_A_THREAD):
            if self._is_safe(partition.log, future.log):
                break
            work = future.log.unsynced()
            try:
                await trio.to_thread.run_sync(work.sync)
            except OSError as error:
                failure: OSError | None = error
            else:
                failure = None
            if self._moving.get(name) is not partition:
                return  # given up meanwhile, and its files have other names
            if failure is not None:
                with self._node.directories.watching(future.directory):
                    raise failure
            future.log.synced(work)
            self._copy(partition, future, STEP_BYTES)
        while not is_caught_up(partition.log, future.log):
            self._copy(partition, future, STEP_BYTES)
        if not self._is_safe(partition.log, future.log):
            work = future.log.unsynced()
            with self._node.directories.watching(future.directory):
                work.sync()
            future.log.synced(work)
        self._replace(name, partition)

    def _is_safe(self, current: Log, future: Log) -> bool:
        """What nobody may lose of the log is as safe in the copy."""
        if self._node.durability is Durability.FSYNC and future.synced_offset < current.synced_offset:
            return False
        return future.recovery_point >= current.recovery_point

    def _replace(self, name: TopicPartition, partition: Partition) -> None:
        """Nothing is awaited here: nobody appends meanwhile."""
        node = self._node
        try:
            finish_move(node.directories, name, self._unique())
        finally:
            node.housekeeping.removal.look()
            found = node.directories.find(name)
            if found is not None and found.log is not partition.log:
                found.log.configure(node.topic_config(name.topic))
                partition.replace_log(found.log)
                self._moving.pop(name, None)
                self._assigned.pop(name, None)
                # The metadata may have been told meanwhile where it lay before.
                node.housekeeping.assignments.look(partition)


def _id_of(directory: LogDirectory) -> Uuid:
    assert directory.meta is not None
    assert directory.meta.directory_id is not None
    return directory.meta.directory_id
