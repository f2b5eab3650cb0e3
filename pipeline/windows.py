"""What a feed is made of: events counted by window and by a field, sessions, rates of errors."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from barnabas.pipeline.decoding import Decoder
from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.settings import Derived

__all__ = ["as_records", "check_feed", "summed_up"]


def check_feed(name: str, feed: Derived, decoders: dict[str, Decoder]) -> Decoder:
    """The decoder of its source; PipelineFailed if the feed cannot be."""
    where = f"[derive.{name}]"
    if feed.source not in decoders:
        raise PipelineFailed(f"{where}: give the topic {feed.source} a schema, in [topics.{feed.source}].")
    decoder = decoders[feed.source]
    if feed.by not in decoder.fields.names:
        raise PipelineFailed(f"{where}: {feed.source} has no field {feed.by}, but {', '.join(decoder.fields.names)}.")
    if feed.topic == feed.source:
        raise PipelineFailed(f"{where}: it would read what it writes: give it another topic.")
    if (feed.kind == "errors") != bool(feed.failed):
        raise PipelineFailed(f"{where}: failed = '...' says what an error is, for kind = \"errors\" and no other.")
    return decoder


def summed_up(events: DataFrame, name: str, feed: Derived, *, live: bool = False) -> DataFrame:
    """Columns start, end, by, count and, of errors, failed; of events with the column event_time."""
    try:
        length = f.session_window if feed.kind == "sessions" else f.window
        seen = events.withWatermark("event_time", feed.watermark) if live else events
        of = seen.groupBy(length("event_time", feed.window).alias("window"), f.col(feed.by).alias("by"))
        counts: list[Column] = [f.count("*").alias("count")]
        if feed.failed:
            counts.append(f.count_if(f.expr(feed.failed)).alias("failed"))
        found = of.agg(*counts).filter(f.col("by").isNotNull())
        return found.select(
            "window.start", "window.end", f.col("by").cast("string"), "count", *(["failed"] * bool(feed.failed))
        )
    except PySparkException as error:
        first = str(error).strip().splitlines()[0]
        raise PipelineFailed(
            f"[derive.{name}]: Spark cannot work with its window, watermark or failed: {first}"
        ) from None


def as_records(results: DataFrame, feed: Derived) -> DataFrame:
    """Columns key and value: the key is the window's start and what is counted, so a result has the same one always."""
    rows = results
    value = [_moment("start"), _moment("end"), f.col("by").alias(feed.by), f.col("count")]
    if feed.failed:
        value += [f.col("failed"), f.round(f.col("failed") / f.col("count"), 6).alias("rate")]
    if feed.top:
        best = Window.partitionBy("start", "end").orderBy(f.desc("count"), "by")
        rows = rows.withColumn("rank", f.row_number().over(best)).filter(f.col("rank") <= feed.top)
        value.append(f.col("rank"))
    key = f.concat_ws("|", _moment("start"), "by")
    return rows.select(key.alias("key"), f.to_json(f.struct(*value)).alias("value")).orderBy("key")


def _moment(name: str) -> Column:
    return f.date_format(name, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'").alias(name)
