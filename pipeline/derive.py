"""derive: feeds out of topics, by windows of the events' own time: the top pages, sessions, rates of errors.

A window's results are sent once, when no event of it can come any more: the watermark has passed its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from barnabas.pipeline.checkpoints import Checkpoint
from barnabas.pipeline.cluster import check_reachable, make_topic
from barnabas.pipeline.decoding import Decoder, decoders
from barnabas.pipeline.events import with_events
from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.feeds import Feed
from barnabas.pipeline.lake import Lake
from barnabas.pipeline.progress import Say
from barnabas.pipeline.reading import stream
from barnabas.pipeline.running import Work, run, trigger
from barnabas.pipeline.settings import Derived, Settings
from barnabas.pipeline.tables import decoded
from barnabas.pipeline.windows import as_records, check_feed, summed_up

__all__ = ["derive", "derive_from_lake"]


def derive(spark: SparkSession, settings: Settings, names: Sequence[str], *, catch_up: bool, say: Say) -> None:
    """Of these feeds, or all: until it is told to stop; or, to catch up, of all that was there at the start."""
    feeds = _chosen(settings, names)
    known = decoders(spark, settings)
    sources = {name: check_feed(name, feed, known) for name, feed in feeds.items()}
    check_reachable(settings.bootstrap)
    sent = 0

    def tell(sentence: str, **facts: Any) -> None:
        nonlocal sent
        sent += facts.get("results", 0)
        say(sentence, **facts)

    run([_work(spark, settings, name, feeds[name], sources[name], catch_up, tell) for name in feeds])
    say(f"{sent:,} results have been sent" if sent else "no window was over", event="done", results=sent)


def derive_from_lake(
    spark: SparkSession, settings: Settings, names: Sequence[str], since: datetime, until: datetime, say: Say
) -> None:
    """What has landed of that time, once more: a result has the key that it had, so readers keep the newer one."""
    feeds = _chosen(settings, names)
    known = decoders(spark, settings)
    for name, feed in feeds.items():
        check_feed(name, feed, known)
    check_reachable(settings.bootstrap)
    lake = Lake(spark, settings.place(settings.lake.path))
    for name, feed in feeds.items():
        events = decoded(spark, lake, feed.source).withColumn("event_time", f.col("kafka.event_time"))
        within = events.filter((f.col("event_time") >= f.lit(since)) & (f.col("event_time") < f.lit(until)))
        results = as_records(summed_up(within, name, feed), feed)
        place = _place(settings, name, feed)
        checkpoint = Checkpoint(spark, f"{place}-lake-{since:%Y%m%dT%H%M%S}-{until:%Y%m%dT%H%M%S}")
        sending = _feed(spark, settings, feed, checkpoint)
        sent = sending.send(0, _rows(results))
        sending.finish(0)
        say(f"{name}: {sent:,} results from the lake", event="derived", feed=name, results=sent)


def _chosen(settings: Settings, names: Sequence[str]) -> dict[str, Derived]:
    unknown = [name for name in names if name not in settings.derive]
    if unknown or not settings.derive:
        what = f"There is no feed {unknown[0]}" if unknown else "There is no feed"
        known = ", ".join(settings.derive) or "none"
        raise PipelineFailed(f"{what}: name one of the settings' [derive.NAME], which are {known}.")
    return {name: feed for name, feed in settings.derive.items() if not names or name in names}


def _work(
    spark: SparkSession, settings: Settings, name: str, feed: Derived, decoder: Decoder, catch_up: bool, say: Say
) -> Work:
    checkpoint = Checkpoint(spark, _place(settings, name, feed))
    sending = _feed(spark, settings, feed, checkpoint)
    options = {
        "subscribe": feed.source,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(settings.land.records_per_batch),
        "failOnDataLoss": str(settings.land.fail_on_data_loss).lower(),
    }
    records = with_events(
        stream(spark, settings, options), {feed.source: decoder}, settings.land, datetime.now(UTC)
    ).filter("reason IS NULL")
    fields = [f.col("events").getItem(feed.source).getField(field).alias(field) for field in decoder.fields.names]
    events = records.select("event_time", *fields)
    writer = summed_up(events, name, feed, live=True).writeStream.queryName(f"derive-{name}").outputMode("append")
    writer = writer.option("checkpointLocation", checkpoint.place)

    def take(results: DataFrame, batch: int) -> None:
        kept = results.persist()  # to sort it would ask for it twice, and so for all that it is made of
        try:
            sent = sending.send(batch, _rows(as_records(kept, feed)))
        finally:
            kept.unpersist()
        if sent:
            say(f"{name}, batch {batch}: {sent:,} results", event="derived", feed=name, batch=batch, results=sent)

    def progress(told: dict[str, Any]) -> None:
        late = sum(state["numRowsDroppedByWatermark"] for state in told["stateOperators"])
        if late:
            say(f"{name}: {late:,} groups of events came too late for their window", event="late", feed=name, late=late)

    return Work(writer.trigger(**trigger(feed.every_seconds, catch_up=catch_up)), take, progress)


def _place(settings: Settings, name: str, feed: Derived) -> str:
    return settings.place(feed.checkpoint or f"checkpoints/derive-{name}")


def _feed(spark: SparkSession, settings: Settings, feed: Derived, checkpoint: Checkpoint) -> Feed:
    make_topic(spark, settings, feed.topic, feed.partitions, {"cleanup.policy": "compact"})
    return Feed(
        feed.topic,
        settings.producer_properties(),
        checkpoint.files,
        checkpoint.name,
        transactional=feed.transactional,
    )


def _rows(records: DataFrame) -> Any:
    """One after the other: results are few beside their events, but nobody knows how few."""
    return ((row.key, row.value) for row in records.toLocalIterator())
