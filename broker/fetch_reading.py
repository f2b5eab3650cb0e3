"""What a Fetch finds: of each partition that it wants, as much as the limits leave, without touching a byte of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import trio

from barnabas.broker.call import Call
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    LeaderIdAndEpoch,
    PartitionData,
)
from barnabas.protocol.schema import Uuid
from barnabas.replication.partition import Partition
from barnabas.replication.watermark import Watermark

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Reading", "Wanted"]

READ_COMMITTED = 1
NO_EPOCH = -1
UNKNOWN_OFFSET = -1


class Wanted(NamedTuple):
    name: str | None
    """None for an id that no topic has."""
    topic_id: Uuid
    partition: FetchPartition


class Reading:
    """One Fetch's look at its partitions, repeated while there is too little."""

    def __init__(self, node: Node, call: Call, request: FetchRequest, wanted: Sequence[Wanted]) -> None:
        self._node = node
        self._call = call
        self._request = request
        self._wanted = wanted
        self._committed_only = request.isolation_level == READ_COMMITTED
        self.results: list[tuple[Wanted, PartitionData]] = []
        self._size = 0
        self._final = False
        """Something has to be told at once: an error, or that the log took another way."""

    @property
    def is_enough(self) -> bool:
        return self._final or self._size >= self._request.min_bytes or not self._wanted

    def read(self) -> None:
        self.results = []
        self._size = 0
        self._final = False
        left = min(self._request.max_bytes, self._node.config.fetch_max_bytes)
        for wanted in self._wanted:
            data = self._read_one(wanted, left)
            size = len(data.records) if data.records is not None else 0
            left = max(left - size, 0)
            self._size += size
            self.results.append((wanted, data))

    def _read_one(self, wanted: Wanted, left: int) -> PartitionData:
        one = wanted.partition
        try:
            if wanted.name is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
            partition = self._node.partition(wanted.name, one.partition)
            partition.check_leader(one.current_leader_epoch)
            return self._read_led(partition, one, left)
        except KafkaError as error:
            self._final = True
            data = PartitionData(
                partition_index=one.partition, error_code=error.code, high_watermark=UNKNOWN_OFFSET, records=b""
            )
            if error.code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH) and wanted.name:
                leader, epoch = self._node.leader_of(wanted.name, one.partition)
                data.current_leader = LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)
            return data

    def _read_led(self, partition: Partition, one: FetchPartition, left: int) -> PartitionData:
        log = partition.log
        data = PartitionData(
            partition_index=one.partition,
            high_watermark=partition.high_watermark.offset,
            last_stable_offset=partition.last_stable.offset,
            log_start_offset=log.start_offset,
            records=b"",
        )
        if one.last_fetched_epoch != NO_EPOCH and self._diverges(partition, one, data):
            self._final = True
            return data
        bound = self._bound(partition)
        found = partition.read(
            one.fetch_offset, min(one.partition_max_bytes, left), bound.offset, at_least_one=self._size == 0
        )
        if found.length:
            data.records = found
        if self._committed_only:
            data.aborted_transactions = []
            if found.length:
                data.aborted_transactions = _aborted(partition, one.fetch_offset, bound.offset)
        return data

    def _bound(self, partition: Partition) -> Watermark:
        return partition.last_stable if self._committed_only else partition.high_watermark

    def _diverges(self, partition: Partition, one: FetchPartition, data: PartitionData) -> bool:
        """Whether the reader followed a leader whose records were given up, and up to where it can have been right."""
        epoch, end_offset = partition.log.epochs.end_offset_for(one.last_fetched_epoch, partition.log.end_offset)
        if end_offset < 0:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{partition.name} knows of no epoch {one.last_fetched_epoch} or before it",
            )
        if epoch < one.last_fetched_epoch or end_offset < one.fetch_offset:
            data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
            return True
        return False

    async def news(self) -> None:
        """Return when any of the partitions has something new."""
        event = trio.Event()
        bounds = [self._bound(partition) for partition in self._partitions()]
        for bound in bounds:
            bound.watch(event)
        try:
            await event.wait()
        finally:
            for bound in bounds:
                bound.unwatch(event)

    def _partitions(self) -> list[Partition]:
        found = (
            self._node.partitions.find(wanted.name, wanted.partition.partition)
            for wanted in self._wanted
            if wanted.name is not None
        )
        return [partition for partition in found if partition is not None]


def _aborted(partition: Partition, offset: int, end_offset: int) -> list[AbortedTransaction]:
    return [
        AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
        for one in partition.log.aborted_transactions(offset, end_offset)
    ]
