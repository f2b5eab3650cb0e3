"""The lake's tables, as they are read: their columns, whichever batches and schemas their files come from."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from barnabas.pipeline.lake import Lake
from barnabas.pipeline.schemas import versions

__all__ = ["OF_RECORD", "PLACE", "RAW", "decoded", "quarantine", "raw"]

_HEADER = StructType().add("key", "string").add("value", "binary")
RAW = (
    StructType()
    .add("key", "binary")
    .add("value", "binary")
    .add("headers", ArrayType(_HEADER))
    .add("timestamp", "timestamp")
    .add("timestamp_type", "integer")
    .add("partition", "integer")
    .add("offset", "long")
    .add("event_time", "timestamp")
    .add("landed", "timestamp")
)
PLACE = StructType().add("topic", "string").add("date", "string").add("hour", "string")
"""The columns that are directories."""
OF_RECORD = StructType([RAW[name] for name in ("partition", "offset", "timestamp", "key", "event_time")])
"""What a decoded row says of its record, in its column `kafka`."""


def raw(spark: SparkSession, lake: Lake) -> DataFrame:
    return _read(spark, lake, "raw", StructType([*RAW, *PLACE]))


def quarantine(spark: SparkSession, lake: Lake) -> DataFrame:
    return _read(spark, lake, "quarantine", StructType([*RAW, StructField("reason", StringType()), *PLACE]))


def decoded(spark: SparkSession, lake: Lake, topic: str) -> DataFrame:
    """All versions in one: the newest schema's columns, null where an older file has none or no such value."""
    known = versions(lake.files, topic)
    of_record = StructField("kafka", OF_RECORD)
    newest = known[max(known)]
    parts = []
    for number, fields in known.items():
        where = f"decoded/{topic}/version={number}"
        if not lake.files.exists(where):
            continue
        rows = _read(spark, lake, where, StructType([of_record, *fields, *PLACE[1:]]))
        columns = [
            f.expr(f"try_cast(`{field.name}` AS {field.dataType.simpleString()})").alias(field.name)
            if field.name in fields.names
            else f.lit(None).cast(field.dataType).alias(field.name)
            for field in newest
        ]
        parts.append(rows.select("kafka", *columns, "date", "hour"))
    if not parts:
        return spark.createDataFrame([], StructType([of_record, *newest, *PLACE[1:]]))
    return reduce(DataFrame.unionByName, parts)


def _read(spark: SparkSession, lake: Lake, where: str, schema: StructType) -> DataFrame:
    if not lake.files.exists(where):
        return spark.createDataFrame([], schema)
    uri = lake.files.uri(where)
    return spark.read.schema(schema).option("basePath", uri).parquet(uri)
