"""What a Fetch finds: of each partition that it wants, as much as the limits leave, without touching a byte of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from barnabas.broker.call import Call
from barnabas.broker.fetch_reader import NO_EPOCH, Reader
from barnabas.coordination.fetching.sessions import Exchange, Followed, Result
from barnabas.protocol.batches import LOG_OVERHEAD_BYTES
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from barnabas.protocol.schema import Uuid
from barnabas.replication.partition import Partition
from barnabas.replication.watermark import Watermark
from barnabas.storage.file_slice import FileSlice

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Reading", "no_records"]

UNKNOWN_OFFSET = -1
FIRST_WITH_STORAGE_ERROR = 6
FIRST_WITH_DIVERGENCE = 12
FIRST_WITH_LEADERS = 16


class Reading:
    """One Fetch's look at its partitions, repeated while there is too little."""

    def __init__(self, node: Node, call: Call, request: FetchRequest, exchange: Exchange, max_bytes: int) -> None:
        self._node = node
        self._call = call
        self._partitions = exchange.partitions
        self._tells_all = exchange.session is None
        self.reader = Reader(node, call, request)
        self._max_bytes = max_bytes
        self._min_bytes = min(request.min_bytes, max_bytes)
        self.size = 0
        """Bytes of records."""
        self.results: list[Result] = []
        """Partitions that nobody knows stand at the end, first those of an unknown id; those of a session that have no
        news are left out."""
        self.endpoints: dict[int, NodeEndpoint] = {}
        """Where the leaders are that the answer names."""
        self._nameless: list[Result] = []
        self._unknown: list[Result] = []
        self._read: list[tuple[Partition, Followed]] = []
        self.is_unsayable = False
        """A session began in a later version, and what it has to be told this one cannot say."""
        # Of `watch`.
        self._event: trio.Event
        self._watched: list[Watermark]
        self._has_waited = False
        self._missed: list[Followed] = []
        """Partitions that were unknown from the first."""
        self._is_final = False
        """Something has to be told at once: an error, or that the log took another way."""

    @property
    def is_enough(self) -> bool:
        return self._is_final or self.size >= self._min_bytes or not self._read

    @property
    def is_of_any(self) -> bool:
        """Whether any of its partitions is known."""
        return bool(self._read) or len(self.results) > len(self._unknown) + len(self._nameless)

    def read(self) -> None:
        self.results = []
        self._nameless = []
        self._unknown = []
        self._read = []
        self.size = 0
        self._is_final = False
        left = self._max_bytes
        find = self._node.partitions.find
        for followed in self._partitions:
            number = followed.partition.partition
            partition = None if followed.name is None else find(followed.name, number)
            if partition is None:
                self._missing(followed)
                continue
            self._read.append((partition, followed))
            if self._has_no_news(partition, followed):
                continue
            data = self._read_one(partition, followed, left)
            if data.records is not None:
                size = len(data.records)
                self.size += size
                left = max(left - size, 0)
            self.results.append((followed, data))
        self.results += self._nameless
        self.results += self._unknown

    def _has_no_news(self, partition: Partition, followed: Followed) -> bool:
        """Most partitions of most sessions, most of the time: it is seen without making an answer for them."""
        one = followed.partition
        log = partition.log
        is_unchanged = (
            not self._tells_all
            and self.reader.may_read(partition)
            and one.fetch_offset == self.reader.bound(partition).offset
            and followed.high_watermark == partition.high_watermark.offset
            and followed.log_start_offset == log.start_offset
            and one.current_leader_epoch in (NO_EPOCH, partition.leader_epoch)
            and one.last_fetched_epoch in (NO_EPOCH, log.epochs.latest_epoch)
            and followed.topic_id in (partition.topic_id, Uuid.ZERO)
        )
        return is_unchanged and (not self.reader.is_follower or self._is_heard(partition, one))

    def _is_heard(self, partition: Partition, one: FetchPartition) -> bool:
        """What a follower has; if that is refused, it has to be told."""
        try:
            self._hear(partition, one)
        except KafkaError:
            return False
        return True

    def _hear(self, partition: Partition, one: FetchPartition) -> None:
        if not self._has_waited:
            self.reader.tell(partition, one)

    def _missing(self, followed: Followed) -> None:
        """A partition that the metadata does not have keeps nobody from waiting for the others."""
        name, number = followed.name, followed.partition.partition
        if name is None or not self._node.has_partition(name, number):
            if self._has_waited and followed not in self._missed:
                # It was deleted meanwhile.
                error = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no {name}-{number} any more")
                self.results.append((followed, self._failed(followed, error)))
                return
            if not self._has_waited:
                self._missed.append(followed)
            if name is None:
                self._nameless.append((followed, no_records(number, ErrorCode.UNKNOWN_TOPIC_ID)))
            elif not self.reader.is_follower:
                self._unknown.append((followed, no_records(number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
            else:
                # A follower is told of both kinds in its own order.
                self._nameless.append((followed, no_records(number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
            return
        try:
            self._node.partition(name, number)
        except KafkaError as error:
            self.results.append((followed, self._failed(followed, error)))

    def _read_one(self, partition: Partition, followed: Followed, left: int) -> PartitionData:
        one = followed.partition
        try:
            if followed.topic_id not in (partition.topic_id, Uuid.ZERO):
                raise KafkaError(
                    ErrorCode.INCONSISTENT_TOPIC_ID, f"{partition.name} has the id {partition.topic_id} by now"
                )
            reader = self.reader
            nearest = reader.nearest(partition, one.fetch_offset) if reader.rack else None
            if nearest is not None:
                partition.check_epoch(max(one.current_leader_epoch, NO_EPOCH))
                return self._sent_to(nearest, partition, one)
            reader.check(partition, one)
            data = self._read_here(partition, one, left)
            if not reader.is_follower:
                return data
            if data.diverging_epoch is None:
                self._hear(partition, one)
            if data.records and reader.is_throttled(partition):
                data.records = b""
            return data
        except KafkaError as error:
            return self._failed(followed, error)

    def _sent_to(self, nearest: int, partition: Partition, one: FetchPartition) -> PartitionData:
        self._is_final = True
        return PartitionData(
            partition_index=one.partition,
            high_watermark=partition.high_watermark.offset,
            last_stable_offset=partition.last_stable.offset,
            log_start_offset=partition.log.start_offset,
            aborted_transactions=None,
            preferred_read_replica=nearest,
            records=b"",
        )

    def _failed(self, followed: Followed, error: KafkaError) -> PartitionData:
        self._is_final = True
        number = followed.partition.partition
        self._node.note_refusal(self._call, followed.name, number, error)
        data = no_records(number, error.code)
        data.aborted_transactions = None
        version = self._call.version
        if error.code == ErrorCode.KAFKA_STORAGE_ERROR and version < FIRST_WITH_STORAGE_ERROR:
            data.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if version >= FIRST_WITH_LEADERS and error.code in (
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.FENCED_LEADER_EPOCH,
        ):
            assert followed.name is not None
            leader, epoch = self._node.leader_of(followed.name, number)
            data.current_leader = LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)
            for broker_id, host, port, rack in self._node.brokers_for(self._call.connection):
                if broker_id == leader and not self.reader.is_follower:
                    self.endpoints[broker_id] = NodeEndpoint(node_id=broker_id, host=host, port=port, rack=rack)
        return data

    def _read_here(self, partition: Partition, one: FetchPartition, left: int) -> PartitionData:
        log = partition.log
        data = PartitionData(
            partition_index=one.partition,
            high_watermark=partition.high_watermark.offset,
            last_stable_offset=partition.last_stable.offset,
            log_start_offset=log.start_offset,
            aborted_transactions=None,
            records=b"",
        )
        if one.last_fetched_epoch > NO_EPOCH and self._diverges(partition, one, data):
            self._is_final = True
            return data
        bound = self.reader.bound(partition).offset
        limit = min(one.partition_max_bytes, left)
        if limit < 0 and log.start_offset <= one.fetch_offset < bound:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{partition.name} cannot be read up to {limit} bytes")
        found = partition.read(one.fetch_offset, limit, bound, at_least_one=self.size == 0)
        if found.length == limit and found.length and self.size and _first_batch_bytes(found) > limit:
            # Of a part of a batch nobody has anything. Kafka says nothing of transactions then either.
            return data
        if found.length:
            data.records = found
        if self.reader.committed_only:
            aborted = log.aborted_transactions(one.fetch_offset, log.end_of(found, bound)) if found.length else ()
            data.aborted_transactions = [
                AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset) for each in aborted
            ]
        return data

    def _diverges(self, partition: Partition, one: FetchPartition, data: PartitionData) -> bool:
        """Whether the reader followed a leader whose records were given up, and up to where it can have been right."""
        log = partition.log
        epoch, end_offset = log.epochs.end_offset_for(one.last_fetched_epoch, log.end_offset)
        if end_offset < 0 or one.fetch_offset < log.start_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{partition.name} knows of no epoch {one.last_fetched_epoch} with offset {one.fetch_offset}",
            )
        if epoch < one.last_fetched_epoch or end_offset < one.fetch_offset:
            data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
            self.is_unsayable = self._call.version < FIRST_WITH_DIVERGENCE
            return True
        return False

    # Waiting

    @property
    def lags(self) -> bool:
        """Whether some of it ends at the end of a segment: then there is more behind, and nothing to wait for."""
        for partition, followed in self._read:
            log, bound = partition.log, self.reader.bound(partition).offset
            offset = followed.partition.fetch_offset
            if offset > bound or (
                offset < bound
                and log.segment_number(offset) < log.segment_number(max(bound - 1, log.start_offset))
                and not self.reader.is_throttled(partition)
            ):
                return True
        return False

    def watch(self) -> None:
        """From now on, so right after `read`: what comes before whoever waits gets his turn would not wake him."""
        self._event = trio.Event()
        self._watched = [self.reader.bound(partition) for partition, _ in self._read]
        for bound in self._watched:
            bound.watch(self._event)
        self._has_waited = True

    async def news(self) -> None:
        """Return when any of the partitions has something new since `watch`."""
        try:
            await self._event.wait()
        finally:
            for bound in self._watched:
                bound.unwatch(self._event)


def _first_batch_bytes(found: FileSlice) -> int:
    start = FileSlice(found.file, found.position, LOG_OVERHEAD_BYTES).read()
    return LOG_OVERHEAD_BYTES + int.from_bytes(start[8:])


def no_records(number: int, code: ErrorCode) -> PartitionData:
    return PartitionData(partition_index=number, error_code=code, high_watermark=UNKNOWN_OFFSET, records=b"")
