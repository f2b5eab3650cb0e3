"""Where partitions are, seen from the brokers: who leads what, who is in sync, who may lead if nobody is.

What becomes of a broker concerns the partitions in which it has a part, and few clusters are so small that looking for
them in all would not be felt: heartbeats come all the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.partition import NO_LEADER, Partition
from barnabas.coordination.cluster.topics import Topic, TopicPartition

__all__ = ["Place", "PlacedPartitions"]

Place = tuple[Topic, int, Partition]

_Keys = dict[TopicPartition, None]
"""A set that keeps its order, so that the same happens in the same order."""


@dataclass(slots=True)
class PlacedPartitions:
    _known: dict[TopicPartition, Partition] = field(default_factory=dict)
    _led: dict[int, _Keys] = field(default_factory=dict)
    """Those without a leader under NO_LEADER."""
    _in_sync: dict[int, _Keys] = field(default_factory=dict)
    _eligible: dict[int, _Keys] = field(default_factory=dict)
    _unbalanced: _Keys = field(default_factory=dict)
    """Led by another than the preferred leader."""

    @classmethod
    def of(cls, image: ClusterImage) -> PlacedPartitions:
        placed = cls()
        for topic, number, partition in image.topics.partitions():
            placed._set((topic.id, number), partition)
        return placed

    def follow(self, delta: ImageDelta) -> None:
        """The image has changed so."""
        for key, change in delta.partitions.items():
            self._set(key, change.after)
        for topic in delta.topics_deleted.values():
            for number in topic.partitions:
                self._set((topic.id, number), None)

    def _set(self, key: TopicPartition, partition: Partition | None) -> None:
        before = self._known.pop(key, None)
        if partition is not None:
            self._known[key] = partition
        _move(self._led, key, _leader(before), _leader(partition))
        _move(self._in_sync, key, before.isr if before else (), partition.isr if partition else ())
        _move(
            self._eligible,
            key,
            before.eligible_leader_replicas if before else (),
            partition.eligible_leader_replicas if partition else (),
        )
        if partition is not None and partition.leader != partition.preferred_leader:
            self._unbalanced[key] = None
        else:
            self._unbalanced.pop(key, None)

    # What decisions ask

    def leads(self, broker_id: int) -> bool:
        return broker_id in self._led

    def in_sync(self, image: ClusterImage, broker_id: int) -> list[Place]:
        """Those in whose ISR the broker is."""
        return list(_places(image, self._in_sync.get(broker_id, ())))

    def eligible(self, image: ClusterImage, broker_id: int) -> list[Place]:
        """Those of which the broker is an eligible leader replica."""
        return list(_places(image, self._eligible.get(broker_id, ())))

    def without_leader(self, image: ClusterImage) -> Iterator[Place]:
        return _places(image, self._led.get(NO_LEADER, ()))

    def unbalanced(self, image: ClusterImage) -> Iterator[Place]:
        return _places(image, self._unbalanced)


def _leader(partition: Partition | None) -> tuple[int, ...]:
    return () if partition is None else (partition.leader,)


def _move(index: dict[int, _Keys], key: TopicPartition, before: Iterable[int], after: Iterable[int]) -> None:
    if before == after:
        return
    for broker_id in before:
        keys = index[broker_id]
        del keys[key]
        if not keys:
            del index[broker_id]
    for broker_id in after:
        index.setdefault(broker_id, {})[key] = None


def _places(image: ClusterImage, keys: Iterable[TopicPartition]) -> Iterator[Place]:
    for topic_id, number in keys:
        topic = image.topics.by_id[topic_id]
        yield topic, number, topic.partitions[number]
