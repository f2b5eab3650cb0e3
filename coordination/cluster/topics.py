"""All topics, found by name and by id at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from barnabas.coordination.cluster.partition import Partition
from barnabas.coordination.cluster.records import UnreplayableRecord
from barnabas.protocol.schema import Uuid

__all__ = ["Topic", "TopicPartition", "Topics", "has_collision_letters", "unify_collision_letters"]


@dataclass(slots=True)
class Topic:
    name: str
    id: Uuid
    partitions: dict[int, Partition] = field(default_factory=dict)


TopicPartition = tuple[Uuid, int]
"""A topic's id and the number of a partition."""


def has_collision_letters(name: str) -> bool:
    """Kafka's metrics write '.' as '_', so that a.b and a_b would be one there."""
    return "." in name or "_" in name


def unify_collision_letters(name: str) -> str:
    return name.replace(".", "_")


@dataclass(slots=True)
class Topics:
    by_id: dict[Uuid, Topic] = field(default_factory=dict)
    by_name: dict[str, Topic] = field(default_factory=dict)
    _colliding: dict[str, list[str]] = field(default_factory=dict, compare=False)

    def __iter__(self) -> Iterator[Topic]:
        return iter(self.by_id.values())

    def __len__(self) -> int:
        return len(self.by_id)

    def partitions(self) -> Iterator[tuple[Topic, int, Partition]]:
        """Every partition of every topic."""
        for topic in self.by_id.values():
            for number, partition in topic.partitions.items():
                yield topic, number, partition

    def partition(self, topic_id: Uuid, number: int) -> Partition | None:
        topic = self.by_id.get(topic_id)
        return None if topic is None else topic.partitions.get(number)

    def collision(self, name: str) -> str | None:
        """A topic that Kafka's metrics could not tell from one of this name."""
        if not has_collision_letters(name):
            return None
        found = self._colliding.get(unify_collision_letters(name))
        return found[0] if found else None

    def add(self, name: str, topic_id: Uuid) -> Topic:
        if topic_id in self.by_id or name in self.by_name:
            raise UnreplayableRecord(f"topic {name} with id {topic_id} is there already, or another of its name or id")
        topic = self.by_id[topic_id] = self.by_name[name] = Topic(name, topic_id)
        if has_collision_letters(name):
            self._colliding.setdefault(unify_collision_letters(name), []).append(name)
        return topic

    def remove(self, topic_id: Uuid) -> Topic:
        topic = self.find(topic_id)
        del self.by_id[topic_id]
        del self.by_name[topic.name]
        if has_collision_letters(topic.name):
            unified = unify_collision_letters(topic.name)
            self._colliding[unified].remove(topic.name)
            if not self._colliding[unified]:
                del self._colliding[unified]
        return topic

    def find(self, topic_id: Uuid) -> Topic:
        """The topic that a record speaks of."""
        topic = self.by_id.get(topic_id)
        if topic is None:
            raise UnreplayableRecord(f"there is no topic with id {topic_id}")
        return topic
