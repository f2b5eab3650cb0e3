"""Where the cluster's partitions begin and end, and which topics are compacted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from barnabas.pipeline.cluster import admin, java_list
from barnabas.pipeline.settings import Settings

__all__ = ["Asking", "Place", "asking"]

Place = tuple[str, int]
"""A topic and a partition."""


class Asking:
    def __init__(self, spark: SparkSession, settings: Settings, asked: Any) -> None:
        self._spark = spark
        self._asked = asked
        kafka: Any = spark.sparkContext._jvm.org.apache.kafka
        committed = settings.client_properties().get("isolation.level") == "read_committed"
        level = kafka.common.IsolationLevel.valueOf("READ_COMMITTED" if committed else "READ_UNCOMMITTED")
        self._options = kafka.clients.admin.ListOffsetsOptions(level)
        self._spec = kafka.clients.admin.OffsetSpec
        self._resource = kafka.common.config.ConfigResource
        self._topic_partition = kafka.common.TopicPartition

    def compacted(self, topics: Iterable[str]) -> set[str]:
        """Those of them whose records may go because another has their key."""
        names = java_list(self._spark, (self._resource(self._resource.Type.TOPIC, topic) for topic in topics))
        found = self._asked.describeConfigs(names).all().get()
        return {each.name() for each in names if "compact" in found[each].get("cleanup.policy").value()}

    def first(self, places: Iterable[Place]) -> dict[Place, int]:
        return self._ask(places, self._spec.earliest())

    def ends(self, places: Iterable[Place]) -> dict[Place, int]:
        return self._ask(places, self._spec.latest())

    def since(self, places: Iterable[Place], timestamp_ms: int) -> dict[Place, int]:
        """The first offset with that timestamp or a later one; -1 where there is none."""
        return self._ask(places, self._spec.forTimestamp(timestamp_ms))

    def _ask(self, places: Iterable[Place], spec: Any) -> dict[Place, int]:
        wanted = self._spark.sparkContext._jvm.java.util.HashMap()
        keys = {place: self._topic_partition(*place) for place in places}
        for key in keys.values():
            wanted.put(key, spec)
        answers = self._asked.listOffsets(wanted, self._options).all().get()
        return {place: int(answers[key].offset()) for place, key in keys.items()}


@contextmanager
def asking(spark: SparkSession, settings: Settings) -> Iterator[Asking]:
    with admin(spark, settings) as asked:
        yield Asking(spark, settings, asked)
