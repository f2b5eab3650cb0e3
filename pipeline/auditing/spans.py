"""Offsets that follow one another, as spans: a thousand missing records are told in one line."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from barnabas.pipeline.auditing.findings import Kind, Span, Tier

__all__ = ["MOST", "Key", "Spans", "spans_of"]

Key = tuple[Tier, Kind, str, int | None]
"""As a finding has them: tier, kind, topic, minute."""
Spans = dict[Key, list[Span]]
MOST = 1_000
"""So many are looked at of one kind."""


def spans_of(tier: Tier, kind: Kind, records: DataFrame) -> Spans:
    in_order = Window.partitionBy("topic", "minute", "partition").orderBy("offset")
    rows = records.select("topic", "minute", "partition", "offset").distinct()
    rows = rows.withColumn("run", f.col("offset") - f.row_number().over(in_order))
    runs = rows.groupBy("topic", "minute", "partition", "run").agg(f.min("offset").alias("first"), f.max("offset"))
    found: Spans = {}
    for topic, minute, partition, _, first, last in runs.orderBy("topic", "minute", "partition", "first").take(MOST):
        found.setdefault((tier, kind, topic, minute), []).append(Span(partition, first, last))
    return found
