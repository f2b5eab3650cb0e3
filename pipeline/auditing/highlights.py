"""What a report shows beside the audit: lag by minute, and what [derive] would count, taken from the lake's tables."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from barnabas.pipeline.auditing.results import Feed, Highlights
from barnabas.pipeline.auditing.snapshots import with_listing
from barnabas.pipeline.auditing.tiers import Window, in_lake
from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.lake import Entry, Lake
from barnabas.pipeline.schemas import versions
from barnabas.pipeline.settings import Derived, Settings
from barnabas.pipeline.tables import decoded
from barnabas.pipeline.troubles import in_words

__all__ = ["highlights"]

_TOP = 12


def highlights(spark: SparkSession, settings: Settings, since: int | None, until: int, topics: list[str]) -> Highlights:
    """A feed of which nothing is decoded is left out."""
    lake = Lake(spark, settings.place(settings.lake.path))
    window = Window(since, until)
    wanted = {name: one for name, one in settings.derive.items() if one.kind in ("count", "errors")}

    def list_files() -> tuple[DataFrame, dict[str, DataFrame]]:
        known = {name: one for name, one in wanted.items() if versions(lake.files, one.source)}
        return in_lake(spark, lake, topics), {name: decoded(spark, lake, one.source) for name, one in known.items()}

    def read(_entry: Entry | None, listed: tuple[DataFrame, dict[str, DataFrame]]) -> Highlights:
        rows, tables = listed
        feeds = [_feed(name, wanted[name], window, table) for name, table in tables.items()]
        return Highlights(_lag(window.of(rows)), [feed for feed in feeds if feed.top or feed.rates])

    try:
        return with_listing(lake, list_files, read)
    except (PySparkException, Py4JJavaError) as error:
        raise in_words(error) from error


def _lag(rows: DataFrame) -> dict[int, tuple[int, int]]:
    took = f.unix_millis("landed") - f.unix_millis("timestamp")
    found = rows.groupBy("minute").agg(f.percentile_approx(took, 0.5, f.lit(1_000)), f.max(took))
    return {minute: (half, most) for minute, half, most in found.collect()}


def _feed(name: str, wanted: Derived, window: Window, table: DataFrame) -> Feed:
    try:
        rows = window.of(table.withColumn("timestamp", f.col("kafka.timestamp")))
        by = f.col(f"`{wanted.by}`").cast("string")
        if wanted.kind == "count":
            counts = (
                rows.groupBy(by).agg(f.count("*").alias("times")).orderBy(f.desc("times"), by).limit(_TOP).collect()
            )
            return Feed(name=name, source=wanted.source, by=wanted.by, top=[(str(row[0]), row[1]) for row in counts])
        failed = f.expr(wanted.failed or "false").cast("boolean")
        rates: dict[str, dict[int, tuple[int, int]]] = {}
        calls = rows.groupBy(by, "minute").agg(f.count("*"), f.sum(failed.cast("long")))
        for value, minute, count, errors in calls.collect():
            rates.setdefault(str(value), {})[minute] = count, errors or 0
        return Feed(name=name, source=wanted.source, by=wanted.by, rates=rates)
    except AnalysisException as error:
        first = str(error).splitlines()[0]
        raise PipelineFailed(f"derive.{name} does not fit the schema of {wanted.source}: {first}") from None
