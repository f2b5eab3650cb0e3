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
from barnabas.replication.partition import Partition
from barnabas.storage.durability import Durability
from barnabas.storage.log import Log
from barnabas.storage.log_directories import Replica
from barnabas.storage.log_directory import LogDirectory, TopicPartition
from barnabas.storage.replica_copies import is_caught_up
from barnabas.storage.replica_moves import abort_move, begin_move, copy_step, finish_move
from barnabas.storage.throttle import Throttle

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["ReplicaMoves"]

STEP_BYTES = 256 * 1024
"""So much is copied before anybody else gets a turn."""
SYNCS_IN_A_THREAD = 3
"""Where records come faster than they are synced, the last few are synced while nobody can append."""
UNLIMITED = 2**63 - 1


class _Move:
    """Of a partition to one directory; to another one it is another move, whatever was begun for this."""

    def __init__(self, partition: Partition, source: LogDirectory, copy: Replica) -> None:
        self.partition = partition
        self.name = partition.name
        self.source = source
        self.copy = copy
        self.is_announced = False
        """The metadata may have the partition where the copy is."""


class ReplicaMoves:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._moving: dict[TopicPartition, _Move] = {}
        self._throttle = Throttle(None)
        self._wake = trio.Event()

    # What the API asks

    def begin(self, name: TopicPartition, path: Path) -> None:
        """KafkaError says why not. Where the log lies, or moves to, already, nothing is begun; a move to elsewhere is
        given up."""
        node = self._node
        config = node.topic_config(name.topic)
        try:
            begin_move(node.directories, name, path, config, node.clock.now_ms(), self._unique())
        finally:
            move = self._moving.get(name)
            if move is not None and not self._has_copy(move):
                self._forget(move)
        self._take_up(name)

    def resume(self) -> None:
        """After a start: copies that lie there were being made."""
        for directory in self._node.directories.online:
            for name in directory.futures:
                self._take_up(name)

    def resigned(self, partition: Partition) -> None:
        """If it is not here any more, nothing is copied. A copy whose topic was deleted goes with it; one whose log was
        on a disk that failed may be all that is left, and stays."""
        move = self._moving.get(partition.name)
        if move is not None and self._node.partitions.find(*partition.name) is None:
            self._forget(move)

    def _take_up(self, name: TopicPartition) -> None:
        directories = self._node.directories
        partition = self._node.partitions.find(*name)
        current, copy = directories.find(name), directories.find(name, future=True)
        if name not in self._moving and partition is not None and current is not None and copy is not None:
            self._moving[name] = _Move(partition, current.directory, copy)
            self._wake.set()

    def _unique(self) -> str:
        return self._node.random_bytes(16).hex()

    def _is_under_way(self, move: _Move) -> bool:
        return self._moving.get(move.name) is move

    def _has_copy(self, move: _Move) -> bool:
        found = self._node.directories.find(move.name, future=True)
        return found is not None and found.log is move.copy.log

    def _forget(self, move: _Move) -> None:
        """Also after its disk has failed the metadata has to have the partition where its log is: else the controller
        would take a broker for its leader that has only a copy of it."""
        self._moving.pop(move.name, None)
        if move.is_announced or self._is_assigned(move):
            self._node.housekeeping.assignments.tell(move.partition, move.source)

    def _give_up(self, move: _Move) -> None:
        self._forget(move)
        if not self._has_copy(move):
            return
        try:
            abort_move(self._node.directories, move.name, self._unique())
        except KafkaError as error:
            self._node.warn(f"the copy of {move.name} is not removed: {error}")
        else:
            self._node.housekeeping.removal.look()

    # The task

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            for move in list(self._moving.values()):
                if not self._is_under_way(move):
                    continue
                try:
                    await self._step(move)
                except KafkaError as error:
                    self._node.report(f"{move.name} does not move to another directory: {error}")
                    if self._is_under_way(move):
                        self._give_up(move)
            if not self._moving:
                self._wake = trio.Event()

    async def _step(self, move: _Move) -> None:
        node = self._node
        if not self._has_copy(move) or node.partitions.find(*move.name) is not move.partition:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the log or its copy is gone")
        copied = self._copy(move)
        if copied:
            await trio.sleep(self._pause_ms(copied) / 1000)
        elif self._is_assigned(move) or not node.image.required_metadata_version.directories:
            async with self._not_compacted(move.name):
                if self._is_under_way(move):
                    await self._finish(move)
        else:
            move.is_announced = True
            await self._assign(move)

    def _copy(self, move: _Move) -> int:
        node = self._node
        current = Replica(move.partition.log, move.source)
        return copy_step(node.directories, current, move.copy, STEP_BYTES, node.clock.now_ms())

    def _pause_ms(self, copied: int) -> int:
        limit = self._node.config.replica_alter_log_dirs_io_max_bytes_per_second
        self._throttle.bytes_per_second = None if limit >= UNLIMITED else max(limit, 1)
        return self._throttle.wait_ms(copied, trio.current_time() * 1000)

    def _is_assigned(self, move: _Move) -> bool:
        """By what this node has read of the metadata."""
        node = self._node
        state = node.image.topics.partition(move.partition.topic_id, move.name.partition)
        if state is None or node.node_id not in state.replicas:
            return False
        return state.directory(node.node_id) == move.copy.directory.id

    async def _assign(self, move: _Move) -> None:
        node = self._node
        numbers = [PartitionData(partition_index=move.name.partition)]
        topic = TopicData(topic_id=move.partition.topic_id, partitions=numbers)
        request = AssignReplicasToDirsRequest(
            broker_id=node.node_id,
            broker_epoch=node.broker_epoch,
            directories=[DirectoryData(id=move.copy.directory.id, topics=[topic])],
        )
        answer = await node.controller_link.ask(request, AssignReplicasToDirsResponse)
        codes = [
            answer.error_code,
            *(one.error_code for each in answer.directories for part in each.topics for one in part.partitions),
        ]
        if any(codes):
            raise KafkaError(ErrorCode(max(codes)), "the controller does not take note of its directory")

    def _not_compacted(self, name: TopicPartition) -> AbstractAsyncContextManager[None]:
        """Nobody shall put compacted segments into a log that goes away meanwhile."""
        compaction = self._node.housekeeping.compaction
        return nullcontext() if compaction is None else compaction.paused(name)

    async def _finish(self, move: _Move) -> None:
        current, future = move.partition.log, move.copy.log
        for _ in range(SYNCS_IN_A_THREAD):
            if self._is_safe(current, future):
                break
            work = future.unsynced()
            try:
                await trio.to_thread.run_sync(work.sync)
            except OSError as error:
                failure: OSError | None = error
            else:
                failure = None
            if not self._is_under_way(move):
                return  # given up meanwhile, and its files have other names
            if failure is not None:
                with self._node.directories.watching(move.copy.directory):
                    raise failure
            future.synced(work)
            self._copy(move)
        while not is_caught_up(current, future):
            self._copy(move)
        if not self._is_safe(current, future):
            work = future.unsynced()
            with self._node.directories.watching(move.copy.directory):
                work.sync()
            future.synced(work)
        self._replace(move)

    def _is_safe(self, current: Log, future: Log) -> bool:
        """What nobody may lose of the log is as safe in the copy."""
        if self._node.durability is Durability.FSYNC and future.synced_offset < current.synced_offset:
            return False
        return future.recovery_point >= current.recovery_point

    def _replace(self, move: _Move) -> None:
        """Nothing is awaited here: nobody appends meanwhile."""
        node = self._node
        try:
            finish_move(node.directories, move.name, self._unique())
        finally:
            node.housekeeping.removal.look()
            found = node.directories.find(move.name)
            if found is not None and found.log is move.copy.log:
                found.log.configure(node.topic_config(move.name.topic))
                move.partition.replace_log(found.log)
                self._moving.pop(move.name, None)
                # The metadata may have been told meanwhile where it lay before.
                node.housekeeping.assignments.look(move.partition)
