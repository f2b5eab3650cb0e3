"""What a mirror has to know of its source, from Java's client: it takes the properties that Spark takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from pyspark.sql import SparkSession

from barnabas.pipeline.cluster import java_list, open_admin, said_in_words
from barnabas.pipeline.reading import is_wanted
from barnabas.pipeline.settings import Settings

__all__ = ["SourceCluster", "SourceTopic"]

COPIED = (
    "cleanup.policy",
    "compression.type",
    "delete.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "min.compaction.lag.ms",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.ms",
)
"""What a topic keeps, and in which form."""
_NOT_SET = "DEFAULT_CONFIG"


class SourceTopic(NamedTuple):
    id: str
    partitions: int


class SourceCluster:
    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self._spark = spark
        with said_in_words():
            self._admin = open_admin(spark, settings)

    def close(self) -> None:
        self._admin.close()

    @said_in_words()
    def id(self) -> str:
        return str(self._admin.describeCluster().clusterId().get())

    @said_in_words()
    def names(self, which: Mapping[str, str]) -> list[str]:
        """Of the wanted topics those that are there."""
        return sorted(name for name in map(str, self._admin.listTopics().names().get()) if is_wanted(name, which))

    @said_in_words()
    def topics(self, names: list[str]) -> dict[str, SourceTopic]:
        found = self._admin.describeTopics(java_list(self._spark, names)).allTopicNames().get()
        return {name: SourceTopic(str(found[name].topicId()), found[name].partitions().size()) for name in names}

    @said_in_words()
    def config(self, topic: str) -> dict[str, str]:
        """What is copied of it, as far as somebody has set it for the topic or for all."""
        kind = self._spark.sparkContext._jvm.org.apache.kafka.common.config.ConfigResource
        resource = kind(kind.Type.TOPIC, topic)
        found = self._admin.describeConfigs(java_list(self._spark, [resource])).all().get()[resource]
        entries = ((name, found.get(name)) for name in COPIED)
        return {
            name: str(entry.value())
            for name, entry in entries
            if entry is not None and str(entry.source().name()) != _NOT_SET
        }

    @said_in_words()
    def groups(self, pattern: str) -> list[str]:
        listed = self._admin.listConsumerGroups().all().get()
        return sorted(name for name in (str(group.groupId()) for group in listed) if re.fullmatch(pattern, name))

    @said_in_words()
    def committed(self, group: str) -> dict[tuple[str, int], int]:
        found = self._admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get()
        return {
            (str(place.topic()), int(place.partition())): int(found[place].offset())
            for place in found
            if found[place] is not None
        }
