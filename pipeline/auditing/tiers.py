"""Each tier's records: topic, partition, offset and timestamp, which is all that an audit looks at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from barnabas.pipeline.auditing.broker_offsets import Place
from barnabas.pipeline.lake import Lake
from barnabas.pipeline.minutes import MINUTE_MS
from barnabas.pipeline.reading import kafka_options
from barnabas.pipeline.schemas import versions
from barnabas.pipeline.settings import Settings
from barnabas.pipeline.tables import decoded, quarantine, raw

__all__ = ["RECORD", "Window", "batch", "counted", "fingerprint", "in_lake", "in_tables"]

RECORD = ("topic", "partition", "offset", "timestamp")
"""Which record it is: a topic that was deleted and created again has its offsets twice."""
_ROW = (
    StructType().add("topic", "string").add("partition", "integer").add("offset", "long").add("timestamp", "timestamp")
)
_IS_COUNT = (
    """incarnation IS NOT NULL AND cell IS NOT NULL AND topic IS NOT NULL AND acknowledged >= 0 AND failed >= 0"""
)
_COUNT = "incarnation STRING, cell BIGINT, topic STRING, minute STRING, acknowledged BIGINT, failed BIGINT"


@dataclass(frozen=True)
class Window:
    """Minutes from `since` on, and before `until`."""

    since: int | None
    until: int

    def of(self, rows: DataFrame) -> DataFrame:
        """With their minute. The bounds are told as timestamps, too: Parquet then passes over what lies outside."""
        at = f.col("timestamp")
        rows = rows.filter(at < f.timestamp_millis(f.lit(self.until * MINUTE_MS)))
        if self.since is not None:
            rows = rows.filter(at >= f.timestamp_millis(f.lit(self.since * MINUTE_MS)))
        return rows.withColumn("minute", f.floor(f.unix_millis(at) / MINUTE_MS).cast("long"))


def fingerprint(which: Column) -> Column:
    """The same for the same records, in whichever order; another one if any is missing, or another."""
    return f.coalesce(f.bit_xor(f.when(which, f.xxhash64(*RECORD[1:]))), f.lit(0))


def batch(spark: SparkSession, settings: Settings, start: Mapping[Place, int], end: Mapping[Place, int]) -> DataFrame:
    """The broker's records between offsets."""
    wanted = {place for place, offset in end.items() if start[place] < offset}
    if not wanted:
        return spark.createDataFrame([], StructType([*_ROW]).add("value", "binary"))
    topics = sorted({topic for topic, _ in wanted})
    assign = {topic: sorted(number for name, number in wanted if name == topic) for topic in topics}
    options = {
        "assign": json.dumps(assign),
        "startingOffsets": _offsets(assign, start),
        "endingOffsets": _offsets(assign, end),
        "failOnDataLoss": "false",  # what is deleted meanwhile
    }
    return spark.read.format("kafka").options(**kafka_options(settings), **options).load()


def _offsets(assign: Mapping[str, list[int]], offsets: Mapping[Place, int]) -> str:
    return json.dumps({topic: {str(one): offsets[topic, one] for one in each} for topic, each in assign.items()})


def counted(counts: DataFrame) -> DataFrame:
    """From the messages of the audit topic: what was acknowledged and what failed, by topic and minute; and nulls for
    messages that are no counts."""
    rows = counts.select(f.from_json(f.col("value").cast("string"), _COUNT).alias("count")).select("count.*")
    minute = f.floor(f.unix_millis(f.try_to_timestamp("minute")) / MINUTE_MS).cast("long")
    rows = rows.withColumn("minute", f.when(f.expr(_IS_COUNT), minute))
    rows = rows.withColumn("topic", f.when(f.col("minute").isNotNull(), f.col("topic")))
    cells = rows.groupBy("incarnation", "cell", "topic", "minute").agg(
        f.max("acknowledged").alias("acknowledged"), f.max("failed").alias("failed"), f.count("*").alias("messages")
    )
    return cells.groupBy("topic", "minute").agg(f.sum("acknowledged"), f.sum("failed"), f.sum("messages"))


def in_lake(spark: SparkSession, lake: Lake, topics: list[str]) -> DataFrame:
    return raw(spark, lake).filter(f.col("topic").isin(topics)).select(*RECORD, "event_time", "landed")


def in_tables(spark: SparkSession, lake: Lake, topics: list[str]) -> tuple[list[str], DataFrame]:
    """Which of the topics are decoded at all, and their records that are decoded or quarantined."""
    known = [topic for topic in topics if versions(lake.files, topic)]
    rows = quarantine(spark, lake).filter(f.col("topic").isin(known))
    rows = rows.select(*RECORD, f.lit(True).alias("quarantined"))
    for topic in known:
        kafka = [f.col(f"kafka.{name}").alias(name) for name in RECORD[1:]]
        of_topic = decoded(spark, lake, topic).select(
            f.lit(topic).alias("topic"), *kafka, f.lit(False).alias("quarantined")
        )
        rows = rows.unionByName(of_topic)
    return known, rows
