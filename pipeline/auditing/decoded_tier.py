"""Whether all that is in the lake is also decoded or quarantined, of topics that have a schema."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from barnabas.pipeline.auditing.spans import Spans, spans_of
from barnabas.pipeline.auditing.tiers import RECORD, Window, fingerprint

__all__ = ["Tables", "hold_tables"]

Cell = tuple[str, int]
_EVER = "0001-01-01"


@dataclass(frozen=True)
class Tables:
    """By topic and minute."""

    quarantined: dict[Cell, int]
    undecoded: dict[Cell, int]
    twice: dict[Cell, int]
    spans: Spans


def hold_tables(
    spark: SparkSession,
    window: Window,
    topics: Collection[str],
    landed: Mapping[Cell, tuple[int, int]],
    lake: DataFrame,
    tables: DataFrame,
) -> Tables:
    """`landed`: how many rows the raw table has, and their fingerprint."""
    rows = window.of(tables)
    sums = f.count("*"), fingerprint(f.lit(True)), f.sum(f.col("quarantined").cast("long"))
    there = {(row[0], row[1]): row[2:] for row in rows.groupBy("topic", "minute").agg(*sums).collect()}
    quarantined = {cell: row[2] for cell, row in there.items()}
    wanted = {cell: row for cell, row in landed.items() if cell[0] in topics}
    nothing = (0, 0, 0)
    differing = [cell for cell, row in wanted.items() if row != tuple(there.get(cell, nothing))[:2]]
    if not differing:
        return Tables(quarantined, {}, {}, {})
    cells = f.broadcast(spark.createDataFrame(differing, "topic STRING, minute BIGINT"))
    in_lake = lake.join(cells, ["topic", "minute"]).groupBy(*RECORD, "minute").agg(f.min("landed").alias("landed"))
    in_tables = rows.join(cells, ["topic", "minute"]).groupBy(*RECORD, "minute").agg(f.count("*").alias("times"))
    both = in_lake.join(in_tables, [*RECORD, "minute"], "left").persist()
    try:
        twice, undecoded = both.filter("times > 1"), both.filter("times IS NULL")
        if _by_cell(undecoded):
            undecoded = _since_there_is_a_schema(undecoded, lake, rows, tables)
        spans = spans_of("decoded", "missing", undecoded) | spans_of("decoded", "duplicate", twice)
        return Tables(quarantined, _by_cell(undecoded), _by_cell(twice), spans)
    finally:
        both.unpersist()


def _by_cell(records: DataFrame) -> dict[Cell, int]:
    return {(row[0], row[1]): row[2] for row in records.groupBy("topic", "minute").agg(f.count("*")).collect()}


def _since_there_is_a_schema(undecoded: DataFrame, lake: DataFrame, rows: DataFrame, tables: DataFrame) -> DataFrame:
    """Without what was landed before the first record that is decoded: its topic had no schema then."""
    matched = lake.join(rows.select(*RECORD), [*RECORD], "left_semi")
    begins = matched.groupBy("topic").agg(f.min("landed").alias("begins"))
    # Of a topic whose tables are empty altogether they have been taken away.
    emptied = undecoded.select("topic").distinct().join(tables.select("topic").distinct(), "topic", "left_anti")
    begins = begins.unionByName(emptied.withColumn("begins", f.lit(_EVER).cast("timestamp")))
    return undecoded.join(f.broadcast(begins), "topic").filter("landed >= begins")
