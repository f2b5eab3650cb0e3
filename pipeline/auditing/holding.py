"""The broker's records and the lake's held against each other: by counts, and record by record where these differ."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as f

from barnabas.pipeline.auditing.bounds import Bounds
from barnabas.pipeline.auditing.broker_offsets import Place
from barnabas.pipeline.auditing.comparing import Minute
from barnabas.pipeline.auditing.spans import Spans, spans_of
from barnabas.pipeline.auditing.tiers import RECORD, fingerprint

__all__ = ["Cell", "Held", "hold"]

Cell = tuple[str, int]
"""A topic and a minute."""
_CELL = ("topic", "minute")
_NEVER = float("inf")


@dataclass(frozen=True)
class Held:
    minutes: dict[Cell, Minute]
    spans: Spans
    deleted_until: dict[str, float]
    """Of topics of which the broker has deleted records: up to which minute these may have been."""
    landed: dict[Cell, tuple[int, int]]
    """How many rows the raw table has, and their fingerprint."""


def hold(spark: SparkSession, bounds: Bounds, broker: DataFrame, lake: DataFrame) -> Held:
    """Both with their minutes, and no others than are to be compared."""
    places = f.broadcast(bounds.frame(spark))
    ours = broker.join(places, ["topic", "partition"]).select(
        *RECORD,
        "minute",
        (f.col("offset") >= f.col("landed_to")).alias("waiting"),
        (f.col("offset") < f.col("landed_from")).alias("before"),
    )
    theirs = lake.join(places, ["topic", "partition"], "left").select(
        *RECORD, "minute", (f.col("offset") >= f.col("first")).alias("kept")
    )
    wanted = ~f.col("waiting") & ~f.col("before")
    in_broker = ours.groupBy("topic", "partition", "minute").agg(
        f.count("*").alias("records"),
        _number("waiting").alias("waiting"),
        _number("before").alias("before"),
        fingerprint(wanted).alias("print"),
    )
    in_lake = theirs.groupBy("topic", "partition", "minute").agg(
        f.count("*").alias("records"),
        f.coalesce(_number("kept"), f.lit(0)).alias("kept"),
        fingerprint(f.lit(True)).alias("print"),
    )
    in_broker, in_lake = in_broker.persist(), in_lake.persist()
    try:
        minutes, differing, landed = _by_counts(in_broker, in_lake)
        deleted_until = _deleted_until(bounds, in_broker, in_lake)
    finally:
        in_broker.unpersist()
        in_lake.unpersist()
    spans: Spans = {}
    if differing:
        cells = f.broadcast(spark.createDataFrame(differing, "topic STRING, minute BIGINT"))
        exact, spans = _by_records(ours.join(cells, [*_CELL]), theirs.join(cells, [*_CELL]))
        minutes |= exact
    return Held(minutes, spans, deleted_until, landed)


def _number(column: str) -> Column:
    return f.sum(f.col(column).cast("long"))


def _by_counts(
    in_broker: DataFrame, in_lake: DataFrame
) -> tuple[dict[Cell, Minute], list[Cell], dict[Cell, tuple[int, int]]]:
    """All minutes as they are if nothing is wrong, and those of which it cannot be said."""
    of_broker = f.sum("records"), f.sum("waiting"), f.sum("before"), f.bit_xor("print")
    broker = {(row[0], row[1]): row[2:] for row in in_broker.groupBy(*_CELL).agg(*of_broker).collect()}
    of_lake = f.sum("records"), f.sum("kept"), f.bit_xor("print")
    lake = {(row[0], row[1]): row[2:] for row in in_lake.groupBy(*_CELL).agg(*of_lake).collect()}
    minutes, differing = {}, []
    for cell in broker.keys() | lake.keys():
        records, waiting, before, print_of_broker = broker.get(cell, (0, 0, 0, 0))
        landed, kept, print_of_lake = lake.get(cell, (0, 0, 0))
        minutes[cell] = Minute(
            topic=cell[0],
            minute=cell[1],
            broker=records,
            known=records,
            landed=landed,
            waiting=waiting,
            before=before,
        )
        same = print_of_broker == print_of_lake and records - waiting - before == landed
        if not same or kept != landed:
            differing.append(cell)
    return minutes, differing, {cell: (row[0], row[2]) for cell, row in lake.items()}


def _by_records(ours: DataFrame, theirs: DataFrame) -> tuple[dict[Cell, Minute], Spans]:
    nowhere = [f.lit(False).alias(name) for name in ("waiting", "before")]
    both = ours.select(*RECORD, "minute", "waiting", "before", f.lit(1).alias("broker"), f.lit(0).alias("lake"))
    both = both.unionAll(theirs.select(*RECORD, "minute", *nowhere, f.lit(0).alias("broker"), f.lit(1).alias("lake")))
    records = both.groupBy(*RECORD, "minute").agg(
        f.max("broker").alias("broker"),
        f.sum("lake").alias("lake"),
        f.max("waiting").alias("waiting"),
        f.max("before").alias("before"),
    )
    records = records.persist()
    try:
        alone = f.col("lake") == 0
        rows = records.groupBy(*_CELL).agg(
            f.sum("broker"),
            f.count("*"),
            f.sum((~alone).cast("long")),
            f.sum((alone & f.col("waiting")).cast("long")),
            f.sum((alone & f.col("before") & ~f.col("waiting")).cast("long")),
            f.sum(f.greatest(f.col("lake") - 1, f.lit(0))),
        )
        minutes = {(row[0], row[1]): _minute(row) for row in rows.collect()}
        missing = records.filter(alone & ~f.col("waiting") & ~f.col("before"))
        spans = spans_of("lake", "missing", missing) | spans_of("lake", "duplicate", records.filter("lake > 1"))
    finally:
        records.unpersist()
    return minutes, spans


def _minute(row: Row) -> Minute:
    topic, minute, broker, known, landed, waiting, before, duplicates = row
    return Minute(
        topic=topic,
        minute=minute,
        broker=broker,
        known=known,
        landed=landed,
        waiting=waiting,
        before=before,
        duplicates=duplicates,
    )


def _deleted_until(bounds: Bounds, in_broker: DataFrame, in_lake: DataFrame) -> dict[str, float]:
    """The minute with which a partition begins of which the broker has deleted what came before."""
    until = dict.fromkeys(bounds.compacted, _NEVER)
    deleted = [place for place, first in bounds.first.items() if first > 0]
    if not deleted:
        return until
    begins: dict[Place, float] = defaultdict(lambda: _NEVER)
    for side in (in_broker, in_lake):
        for topic, partition, minute in side.groupBy("topic", "partition").agg(f.min("minute")).collect():
            begins[topic, partition] = min(begins[topic, partition], minute)
    for place in deleted:
        until[place[0]] = max(until.get(place[0], float("-inf")), begins[place])
    return until
