"""Committed offsets, and those that transactions have written and not committed yet.

The offsets of a transaction are records like others, in a batch of the producer's; they count from the marker that
commits it. A marker may come late: where a plain commit was written behind the transaction's record, it stays, which
is why every offset remembers where in the log it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from barnabas.protocol.records.classic_group import OffsetCommitValue
from barnabas.protocol.schema import Uuid

__all__ = ["NO_EXPIRY", "NO_PRODUCER_ID", "CommittedOffset", "OffsetStore", "Offsets"]

NO_PRODUCER_ID = -1
NO_EXPIRY = -1
_NOTHING: Mapping[str, Mapping[int, CommittedOffset]] = {}


class CommittedOffset(msgspec.Struct, frozen=True, gc=False):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None
    """Only where an old client said for how long."""
    topic_id: Uuid
    """Zero in records of older brokers, and of transactions."""
    record_offset: int = -1
    """Where its record stands in the log."""

    @classmethod
    def of_record(cls, value: OffsetCommitValue, record_offset: int) -> CommittedOffset:
        return cls(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            None if value.expire_timestamp == NO_EXPIRY else value.expire_timestamp,
            value.topic_id,
            record_offset,
        )


class Offsets:
    """By group, topic and partition; no empty level stays behind."""

    def __init__(self) -> None:
        self._by_group: dict[str, dict[str, dict[int, CommittedOffset]]] = {}

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self._by_group.get(group_id, _NOTHING).get(topic, {}).get(partition)

    def of_group(self, group_id: str) -> Mapping[str, Mapping[int, CommittedOffset]]:
        return self._by_group.get(group_id, _NOTHING)

    def groups(self) -> Iterator[str]:
        return iter(self._by_group)

    def put(self, group_id: str, topic: str, partition: int, offset: CommittedOffset) -> None:
        self._by_group.setdefault(group_id, {}).setdefault(topic, {})[partition] = offset

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        topics = self._by_group.get(group_id)
        partitions = None if topics is None else topics.get(topic)
        if topics is None or partitions is None:
            return
        partitions.pop(partition, None)
        if not partitions:
            del topics[topic]
        if not topics:
            del self._by_group[group_id]

    def __iter__(self) -> Iterator[tuple[str, str, int, CommittedOffset]]:
        for group_id, topics in self._by_group.items():
            for topic, partitions in topics.items():
                for partition, offset in partitions.items():
                    yield group_id, topic, partition, offset


class OffsetStore:
    """The committed offsets of a partition of __consumer_offsets, and by producer what is not committed yet."""

    def __init__(self) -> None:
        self.committed = Offsets()
        self.pending: dict[int, Offsets] = {}
        # For each group the partitions with pending offsets, and whose they are.
        self._producers: dict[str, dict[tuple[str, int], set[int]]] = {}

    def put(self, group_id: str, topic: str, partition: int, offset: CommittedOffset, producer_id: int) -> None:
        if producer_id == NO_PRODUCER_ID:
            self.committed.put(group_id, topic, partition, offset)
        else:
            self.pending.setdefault(producer_id, Offsets()).put(group_id, topic, partition, offset)
            self._producers.setdefault(group_id, {}).setdefault((topic, partition), set()).add(producer_id)

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """A tombstone takes the pending offsets too, even where it was written by no transaction."""
        self.committed.remove(group_id, topic, partition)
        for producer_id in self._forget_producers(group_id, topic, partition):
            if producer_id in self.pending:
                self.pending[producer_id].remove(group_id, topic, partition)

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        for group_id, topic, partition, offset in self.pending.pop(producer_id, Offsets()):
            partitions = self._producers.get(group_id, {})
            producers = partitions.get((topic, partition), set())
            producers.discard(producer_id)
            if not producers:
                self._forget_producers(group_id, topic, partition)
            if committed:
                existing = self.committed.get(group_id, topic, partition)
                if existing is None or offset.record_offset > existing.record_offset:
                    self.committed.put(group_id, topic, partition, offset)

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        return (topic, partition) in self._producers.get(group_id, {})

    def pending_partitions(self, group_id: str) -> list[tuple[str, int]]:
        return list(self._producers.get(group_id, {}))

    def _forget_producers(self, group_id: str, topic: str, partition: int) -> set[int]:
        partitions = self._producers.get(group_id, {})
        producers = partitions.pop((topic, partition), set())
        if group_id in self._producers and not partitions:
            del self._producers[group_id]
        return producers
