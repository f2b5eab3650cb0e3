"""What a batch of records changed, for those who have to do something about it.

An ImageDelta holds what there was before; what there is now the image tells. One that is filled over several batches
holds what there was before the first of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.configs import ConfigResource
from barnabas.coordination.cluster.partition import Partition
from barnabas.coordination.cluster.quotas import QuotaEntity
from barnabas.coordination.cluster.security import ScramKey
from barnabas.coordination.cluster.topics import Topic, TopicPartition
from barnabas.protocol.schema import Uuid

__all__ = ["ImageDelta", "PartitionChange"]


class PartitionChange(NamedTuple):
    topic: Topic
    before: Partition | None
    """None: the partition is new."""
    after: Partition


@dataclass(slots=True)
class ImageDelta:
    topics_created: dict[Uuid, Topic] = field(default_factory=dict)
    topics_deleted: dict[Uuid, Topic] = field(default_factory=dict)
    """As they were when they went. A topic that came and went within these records is in neither."""
    partitions: dict[TopicPartition, PartitionChange] = field(default_factory=dict)
    """Those that are new or changed, of topics that are still there."""
    configs: set[ConfigResource] = field(default_factory=set)
    """Those for which something was written, even the value that they had: Kafka loads keys and trust stores again
    when it is told the same path once more. Those of deleted topics are among them."""
    quotas: set[QuotaEntity] = field(default_factory=set)
    brokers: dict[int, BrokerRegistration | None] = field(default_factory=dict)
    """Before; None: there was none."""
    controllers: set[int] = field(default_factory=set)
    features: dict[str, int] = field(default_factory=dict)
    """Levels before; 0: it had none."""
    acls: set[Uuid] = field(default_factory=set)
    scram: set[ScramKey] = field(default_factory=set)
    tokens: set[str] = field(default_factory=set)
    producer_ids: bool = False

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__slots__)

    def topic_created(self, topic: Topic) -> None:
        self.topics_created[topic.id] = topic

    def topic_deleted(self, topic: Topic) -> None:
        for number in topic.partitions:
            self.partitions.pop((topic.id, number), None)
        if self.topics_created.pop(topic.id, None) is None:
            self.topics_deleted[topic.id] = topic

    def partition_changed(self, topic: Topic, number: int, before: Partition | None, after: Partition) -> None:
        key = (topic.id, number)
        known = self.partitions.get(key)
        self.partitions[key] = PartitionChange(topic, before if known is None else known.before, after)

    def broker_changed(self, broker_id: int, before: BrokerRegistration | None) -> None:
        self.brokers.setdefault(broker_id, before)

    def feature_changed(self, name: str, before: int) -> None:
        self.features.setdefault(name, before)
