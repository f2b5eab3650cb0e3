"""Up to which offsets tiers can be compared: where the broker begins and ends, and where the lake does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from barnabas.pipeline.auditing.broker_offsets import Place, asking
from barnabas.pipeline.cluster import partitions_of
from barnabas.pipeline.lake import Ends
from barnabas.pipeline.minutes import MINUTE_MS
from barnabas.pipeline.settings import Settings

__all__ = ["Bounds", "bounds_of"]


@dataclass(frozen=True)
class Bounds:
    """By topic and partition."""

    first: dict[Place, int]
    """What lies before, the broker has deleted."""
    last: dict[Place, int]
    """The offset after the last record that there was when the audit began."""
    start: dict[Place, int]
    """From where on to read for the minutes that were asked for."""
    landed_from: dict[Place, int]
    landed_to: dict[Place, int]
    """What lies behind is not landed yet."""
    compacted: set[str]
    """Topics of which nobody knows how many records there were."""

    def frame(self, spark: SparkSession) -> DataFrame:
        rows = [
            (*place, first, self.landed_from[place], self.landed_to[place])
            for place, first in sorted(self.first.items())
        ]
        kinds = "topic STRING, partition INT, first BIGINT, landed_from BIGINT, landed_to BIGINT"
        return spark.createDataFrame(rows, kinds)

    def deleted_unlanded(self) -> dict[Place, tuple[int, int]]:
        """The offsets that the broker has deleted, and land had still to read."""
        found = {}
        for place, first in self.first.items():
            to = self.landed_to[place]
            if 0 < to < first:
                found[place] = to, first - 1
        return found


def bounds_of(
    spark: SparkSession, settings: Settings, topics: Iterable[str], ends: Ends, lake: DataFrame, since: int | None
) -> Bounds:
    places = [(topic, number) for topic, each in partitions_of(spark, settings, topics).items() for number in each]
    with asking(spark, settings) as asked:
        first, last = asked.first(places), asked.ends(places)
        compacted = asked.compacted({topic for topic, _ in places})
        start = dict(first)
        if since is not None:
            for place, offset in asked.since(places, since * MINUTE_MS).items():
                start[place] = max(first[place], offset) if offset >= 0 else last[place]
    landed_to = {}
    for topic, partition in places:
        end = ends.get(topic, {}).get(str(partition), 0)
        # A lake that ends behind the broker's end has records of another topic of that name, which was deleted.
        landed_to[topic, partition] = end if end <= last[topic, partition] else 0
    landed_from = dict.fromkeys(places, 0)
    if settings.land.start == "latest":
        landed_from |= dict.fromkeys(places, 1 << 62)
        begins = lake.groupBy("topic", "partition").agg(f.min("offset")).collect()
        landed_from |= {(topic, partition): offset for topic, partition, offset in begins}
    return Bounds(first, last, start, landed_from, landed_to, compacted)
