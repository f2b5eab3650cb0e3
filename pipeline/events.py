"""Records with what is known of them as events: decoded, timed, or why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from barnabas.pipeline.decoding import Decoder
from barnabas.pipeline.settings import Land

__all__ = ["with_events"]


def with_events(records: DataFrame, decoders: Mapping[str, Decoder], wanted: Land, landed: datetime) -> DataFrame:
    """Adds `events` (a struct with a field for each topic that has a schema), `reason`, `event_time` and its place."""
    topic, value = f.col("topic"), f.col("value")
    events = [f.when(topic == name, one.event(value)).alias(name) for name, one in sorted(decoders.items())]
    rows = records.withColumnRenamed("timestampType", "timestamp_type").withColumn("landed", f.lit(landed))
    rows = rows.withColumn("events", f.struct(*events) if events else f.lit(None))
    rows = rows.withColumn("_happened", _of_its_topic(decoders, lambda one, event: one.happened(event), "timestamp"))
    rows = rows.withColumn("reason", _of_its_topic(decoders, lambda one, event: one.reason(value, event), "string"))
    rows = rows.withColumn("reason", f.coalesce("reason", _misplaced(wanted)))
    at = f.when(f.col("reason").isNull(), f.coalesce("_happened", "timestamp")).otherwise(f.col("timestamp"))
    rows = rows.withColumn("event_time", at)
    rows = rows.withColumn("date", f.date_format("event_time", "yyyy-MM-dd"))
    return rows.withColumn("hour", f.date_format("event_time", "HH"))


def _of_its_topic(decoders: Mapping[str, Decoder], ask: Callable[[Decoder, Column], Column], kind: str) -> Column:
    answer = f.lit(None).cast(kind)
    for name, one in decoders.items():
        answer = f.when(f.col("topic") == name, ask(one, f.col("events").getField(name))).otherwise(answer)
    return answer


def _misplaced(wanted: Land) -> Column:
    """Why an event would not be looked for in the hour that it names."""
    happened, written = f.col("_happened"), f.col("timestamp")
    late = happened < written - f.expr(f"INTERVAL {round(wanted.late_hours * 3600)} SECONDS")
    early = happened > written + f.expr(f"INTERVAL {round(wanted.early_hours * 3600)} SECONDS")
    has_time = written >= f.lit(datetime(1970, 1, 1)).cast("timestamp")  # in the session's zone, UTC
    why = f.when(has_time & late, f"the event is more than {wanted.late_hours:g} hours older than its record")
    return why.when(has_time & early, f"the event is more than {wanted.early_hours:g} hours newer than its record")
