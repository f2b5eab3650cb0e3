"""audit: what producers have counted, what the broker has and what is in the lake, held against each other.

Counts and fingerprints by topic and minute say where tiers differ; record by record is compared what differs alone. So
an audit of an intact lake shuffles no record.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from barnabas.pipeline.auditing.bounds import bounds_of
from barnabas.pipeline.auditing.broker_offsets import Place, asking
from barnabas.pipeline.auditing.comparing import Minute, compare, totals
from barnabas.pipeline.auditing.decoded_tier import Tables, hold_tables
from barnabas.pipeline.auditing.findings import Finding, Span
from barnabas.pipeline.auditing.holding import Cell, Held, hold
from barnabas.pipeline.auditing.results import LATENESS_MS, Audit, Delays
from barnabas.pipeline.auditing.snapshots import with_listing
from barnabas.pipeline.auditing.spans import MOST, Spans
from barnabas.pipeline.auditing.tiers import Window, batch, counted, in_lake, in_tables
from barnabas.pipeline.cluster import check_reachable, partitions_of
from barnabas.pipeline.lake import Entry, Lake
from barnabas.pipeline.minutes import minute_of
from barnabas.pipeline.progress import Say
from barnabas.pipeline.reading import is_wanted, wanted_topics
from barnabas.pipeline.settings import Settings
from barnabas.pipeline.troubles import in_words

__all__ = ["audit"]

_LAST = minute_of(253_402_300_800_000)
"""The year 10000: Spark counts no further than its type for timestamps does."""


def audit(spark: SparkSession, settings: Settings, *, since: int | None, until: int | None, say: Say) -> Audit:
    """Minutes since 1970; without `until` all that are over."""
    check_reachable(settings.bootstrap)
    window = Window(since, min(_LAST, minute_of(int(time.time() * 1000)) if until is None else until))
    notes: list[str] = []
    # First: what is counted by now is in the broker by the time that it is asked.
    say("reading the producers' counts", event="reading", tier="producers")
    counts = _counts(spark, settings, window, notes)
    lake = Lake(spark, settings.place(settings.lake.path))
    topics = _topics(spark, settings, lake, notes)
    say(f"comparing the broker with the lake, {len(topics)} topics", event="reading", tier="lake")

    def read(entry: Entry | None, listed: tuple[DataFrame, list[str], DataFrame]) -> Audit:
        everything, with_schema, tables = listed
        ends = entry.ends if entry is not None else {}
        bounds = bounds_of(spark, settings, topics, ends, everything, window.since)
        rows = window.of(everything)
        held = hold(spark, bounds, window.of(batch(spark, settings, bounds.start, bounds.last)), rows)
        decoded = hold_tables(spark, window, with_schema, held.landed, rows, tables)
        minutes = _whole(topics, held, decoded, counts)
        spans = held.spans | decoded.spans
        found = [_deleted(place, *offsets) for place, offsets in bounds.deleted_unlanded().items()]
        found += [_with_spans(one, spans) for one in compare(minutes, held.deleted_until)]
        return Audit(
            since=window.since,
            until=window.until,
            minutes=minutes,
            findings=found,
            totals=totals(minutes, held.deleted_until),
            delays=_delays(rows),
            notes=notes,
        )

    try:
        return with_listing(lake, lambda: (in_lake(spark, lake, topics), *in_tables(spark, lake, topics)), read)
    except (PySparkException, Py4JJavaError) as error:
        raise in_words(error) from error


def _counts(spark: SparkSession, settings: Settings, window: Window, notes: list[str]) -> dict[Cell, tuple[int, int]]:
    """What was acknowledged, and what failed."""
    topic = settings.audit.topic
    places = [(topic, number) for number in partitions_of(spark, settings, [topic]).get(topic, ())]
    if not places:
        notes.append(f"There is no topic {topic}, in which producers would say how much they have sent.")
        return {}
    with asking(spark, settings) as asked:
        first, last = asked.first(places), asked.ends(places)
    counts, strange = {}, 0
    for name, minute, acknowledged, failed, messages in counted(batch(spark, settings, first, last)).collect():
        if minute is None:
            strange += messages
        elif (window.since is None or minute >= window.since) and minute < window.until:
            counts[name, minute] = acknowledged, failed
    if strange:
        notes.append(f"{strange:,} messages of the topic {topic} are no counts, and were passed over.")
    return counts


def _topics(spark: SparkSession, settings: Settings, lake: Lake, notes: list[str]) -> list[str]:
    """Those that are landed, in the cluster or in the lake."""
    which = wanted_topics(settings.land.topics, settings.land.pattern, "[land]")
    there = set(partitions_of(spark, settings))
    newest = lake.newest()
    known = there | set(newest.ends if newest is not None else ())
    topics = sorted(name for name in known if is_wanted(name, which))
    gone = [name for name in topics if name not in there]
    gone += [name for name in settings.land.topics if name not in known]
    notes += [f"There is no topic {name} in the cluster." for name in gone]
    return topics


def _whole(topics: list[str], held: Held, decoded: Tables, counts: Mapping[Cell, tuple[int, int]]) -> list[Minute]:
    """The minutes of all tiers. A topic that some producer counts is taken to be counted by all, in all minutes."""
    of_producers = {cell: one for cell, one in counts.items() if cell[0] in topics}
    counted_topics = {topic for topic, _ in of_producers}
    minutes = []
    for cell in held.minutes.keys() | of_producers.keys():
        topic, minute = cell
        produced, uncertain = of_producers.get(cell, (0 if topic in counted_topics else None, 0))
        one = held.minutes.get(cell) or Minute(topic=topic, minute=minute)
        minutes.append(
            replace(
                one,
                produced=produced,
                uncertain=uncertain,
                quarantined=decoded.quarantined.get(cell, 0),
                undecoded=decoded.undecoded.get(cell, 0),
                decoded_twice=decoded.twice.get(cell, 0),
            )
        )
    return sorted(minutes, key=lambda one: (one.topic, one.minute))


def _with_spans(finding: Finding, spans: Spans) -> Finding:
    of_it = spans.get((finding.tier, finding.kind, finding.topic, finding.minute), [])
    # Spans are looked at up to a number: a finding without any is among those that were not.
    looked_at = finding.tier == "broker" or sum(map(len, spans.values())) < MOST
    return replace(finding, spans=tuple(of_it), more_spans=not looked_at)


def _deleted(place: Place, first: int, last: int) -> Finding:
    topic, partition = place
    return Finding("lake", "deleted", topic, None, last - first + 1, (Span(partition, first, last),))


def _delays(rows: DataFrame) -> list[Delays]:
    late = f.unix_millis("timestamp") - f.unix_millis("event_time")
    landing = f.unix_millis("landed") - f.unix_millis("timestamp")
    asked = [
        one
        for column in (late, landing)
        for one in (f.percentile_approx(column, [0.5, 0.99], f.lit(1_000)), f.max(column))
    ]
    asked += [f.sum((late <= most).cast("long")) for most in LATENESS_MS]
    found = []
    for row in rows.groupBy("topic").agg(*asked, f.count("*")).orderBy("topic").collect():
        topic, of_late, latest, of_landing, last, *up_to = row
        lateness = [up_to[0], *(more - less for less, more in pairwise(up_to))]
        found.append(Delays(topic=topic, late_ms=(*of_late, latest), landing_ms=(*of_landing, last), lateness=lateness))
    return found
