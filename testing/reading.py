"""Records out of the log itself, as far as a consumer may see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import trio

from barnabas.broker.auto_creation import INTERNAL_TOPICS
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.record import read_records
from barnabas.testing.errors import UnknownTopic
from barnabas.testing.record import Record

if TYPE_CHECKING:
    from barnabas.broker.node import Node
    from barnabas.coordination.cluster.topics import Topic
    from barnabas.protocol.schema import Uuid
    from barnabas.replication.partition import Partition
    from barnabas.replication.watermark import Watermark

__all__ = ["READ_COMMITTED", "READ_UNCOMMITTED", "Reader", "find_topic"]

READ_COMMITTED = "read_committed"
READ_UNCOMMITTED = "read_uncommitted"
_READ_BYTES = 1 << 20


def find_topic(node: Node, name: str, partition: int | None = None) -> Topic:
    """With that partition, if one is said; UnknownTopic has what there is instead."""
    known = node.image.topics.by_name.get(name)
    if known is None:
        there = ", ".join(sorted(topic.name for topic in node.image.topics if topic.name not in INTERNAL_TOPICS))
        raise UnknownTopic(f"there is no topic {name}; there are: {there or 'none'}")
    if partition is not None and partition not in known.partitions:
        raise UnknownTopic(f"{name} has no partition {partition}, but {len(known.partitions)} in all")
    return known


class Reader:
    """One topic, or one partition of it, read on and on: every `read` takes what has come meanwhile."""

    def __init__(self, topic: str, partition: int | None, isolation: str) -> None:
        if isolation not in (READ_COMMITTED, READ_UNCOMMITTED):
            raise ValueError(f"isolation={isolation!r}: write {READ_COMMITTED!r} or {READ_UNCOMMITTED!r}")
        self.topic = topic
        self._partition = partition
        self._committed = isolation == READ_COMMITTED
        self._topic_id: Uuid | None = None
        self._records: dict[int, list[Record]] = {}
        self._next: dict[int, int] = {}

    def check(self, node: Node) -> None:
        find_topic(node, self.topic, self._partition)

    async def read_there(self, node: Node) -> list[Record]:
        """Of a topic that has to be there."""
        self.check(node)
        return await self.read(node)

    def bounds(self, node: Node) -> Iterator[Watermark]:
        """What rises when there is more to read."""
        for partition in self._partitions(node):
            yield self._bound(partition)

    async def read(self, node: Node) -> list[Record]:
        """All that there is by now, in the order of partitions and offsets; nothing of a topic that is not there."""
        known = node.image.topics.by_name.get(self.topic)
        topic_id = None if known is None else known.id
        if topic_id != self._topic_id:
            self._topic_id = topic_id
            self._records.clear()
            self._next.clear()
        found: list[Record] = []
        for partition in self._partitions(node):
            await self._read_on(partition)
            start = partition.log.start_offset
            found += [record for record in self._records[partition.name.partition] if record.offset >= start]
        return found

    def _partitions(self, node: Node) -> list[Partition]:
        known = node.image.topics.by_name.get(self.topic)
        if known is None:
            return []
        numbers = sorted(known.partitions) if self._partition is None else [self._partition]
        here = [node.partitions.find(self.topic, number) for number in numbers]
        return [partition for partition in here if partition is not None]

    def _bound(self, partition: Partition) -> Watermark:
        return partition.last_stable if self._committed else partition.high_watermark

    async def _read_on(self, partition: Partition) -> None:
        number = partition.name.partition
        records = self._records.setdefault(number, [])
        offset = max(self._next.get(number, 0), partition.log.start_offset)
        while offset < (end := self._bound(partition).offset):
            part = partition.read(offset, _READ_BYTES, end, at_least_one=True)
            if not part.length:
                break  # compaction has taken all up to there
            offset = self._take(partition, part.read(), offset, end, records)
            await trio.lowlevel.checkpoint()
        self._next[number] = offset

    def _take(self, partition: Partition, data: bytes, offset: int, end: int, records: list[Record]) -> int:
        """The offset behind the last batch of the data."""
        aborted = partition.log.aborted_transactions(offset, end) if self._committed else []
        topic, number = partition.name
        for batch in iterate_batches(data):
            is_aborted = batch.transactional and any(
                one.producer_id == batch.producer_id and one.first_offset <= batch.base_offset <= one.last_offset
                for one in aborted
            )
            if not (batch.control or is_aborted):
                records += [
                    Record(topic, number, one.offset, one.timestamp, one.key, one.value, tuple(one.headers))
                    for one in read_records(batch)
                    if offset <= one.offset < end
                ]
            offset = max(offset, batch.next_offset)
        return offset
