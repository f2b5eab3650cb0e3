"""replay: a time range of the lake into a topic, with the records' own timestamps, in the order in which they were.

A plan is written down before the first record is sent: which records, and where each partition of the target ended.
From then on the n-th record behind that end is the n-th of the plan, so a replay that was killed goes on there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from barnabas.pipeline.cluster import check_reachable
from barnabas.pipeline.copying.murmur2 import partition_of
from barnabas.pipeline.copying.replay_plan import Asked, Plan, Plans
from barnabas.pipeline.copying.replaying import ANEW, COLUMNS, MOVED, Replaying, check, send
from barnabas.pipeline.copying.rows import CONTENT
from barnabas.pipeline.copying.target_cluster import TargetCluster
from barnabas.pipeline.ending import told_to_end
from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.files import Files
from barnabas.pipeline.lake import Lake
from barnabas.pipeline.progress import Say
from barnabas.pipeline.settings import Settings
from barnabas.pipeline.tables import raw
from barnabas.pipeline.troubles import in_words

__all__ = ["Asked", "replay"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SETTLING_S = 60.0
_ATTEMPTS = 3
"""Where tasks were given up with their executors: each goes on behind what is there."""
_LONG = 2**63 - 1
_LOOK_S = 0.2
_TELL_EVERY_S = 10.0
_TELL_EVERY_PART = 0.05


def replay(
    spark: SparkSession, settings: Settings, asked: Asked, *, rate: float | None, dry_run: bool, say: Say
) -> None:
    asked.check()
    lake = Lake(spark, settings.place(settings.lake.path))
    if not lake.files.exists(f"raw/topic={asked.topic}"):
        raise PipelineFailed(f"The lake {lake.files.root} has no topic {asked.topic}: land it first.")
    check_reachable(settings.bootstrap)
    if spark.conf.get("spark.speculation", "false") == "true":
        raise PipelineFailed("spark.speculation lets two tasks write the same partition: leave it off.")
    _Replay(spark, settings, asked, lake, say).run(rate, dry_run)


class _Replay:
    def __init__(self, spark: SparkSession, settings: Settings, asked: Asked, lake: Lake, say: Say) -> None:
        self._spark = spark
        self._asked = asked
        self._lake = lake
        self._say = say
        self._properties = settings.producer_properties()
        self._plans = Plans(Files(spark, settings.place(settings.replay.checkpoint)))
        self._cluster = TargetCluster(self._properties)
        self._partitions = self._cluster.partitions().get(asked.to_topic, 0)

    def run(self, rate: float | None, dry_run: bool) -> None:
        old = self._plans.find(self._asked)
        plan = old or self._plan()
        self._check_target(plan)
        if dry_run:
            self._tell_plan(plan)
            return
        began = time.monotonic()
        if old is None:
            self._plans.keep(plan)
        done = self._send(plan, self._rates(plan, rate), is_new=old is None)
        self._plans.end(plan)
        sent, seconds = sum(row[2] for row in done), time.monotonic() - began
        self._say(
            f"{sent:,} records into {self._asked.to_topic} in {seconds:.1f} s, {sum(row[1] for row in done):,} in all.",
            event="done",
            records=sum(row[1] for row in done),
            sent=sent,
            seconds=round(seconds, 3),
        )

    def _send(self, plan: Plan, rates: dict[int, float], *, is_new: bool) -> list[Any]:
        for attempt in range(1, _ATTEMPTS + 1):
            # What is there counts from the first look on; for a new plan there is nothing, unless others write.
            ends = plan.bases if is_new and attempt == 1 else self._ends(at_rest=True)
            replaying = Replaying(self._properties, self._asked.to_topic, plan.bases, ends, rates)
            if ends is not plan.bases:
                self._check_what_is_there(plan, replaying)
            try:
                return self._run(partial(send, replaying), self._slotted(plan), plan)
            except PipelineFailed as error:
                if MOVED not in str(error) or attempt == _ATTEMPTS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _plan(self) -> Plan:
        if not self._partitions:
            self._check_partitions(1)
        deadline = time.monotonic() + _SETTLING_S
        while True:
            before = self._journal()
            counted = (
                self._rows()
                .groupBy("target")
                .agg(
                    f.count("*"),
                    f.max(f.unix_micros("landed")),
                    f.min(f.unix_millis("timestamp")),
                )
                .collect()
            )
            if self._lake.is_settled() and self._journal() == before:
                break
            if time.monotonic() > deadline:
                raise PipelineFailed(f"{self._lake.files.root} changes too often to be counted: try again.")
        if not counted:
            raise PipelineFailed(
                f"The lake has no record of {self._asked.topic} in that range: mend --since and --until"
                f"{', or try --by record' if self._asked.by == 'event' else ''}."
            )
        return Plan(
            asked=self._asked,
            landed_us=max(row[2] for row in counted),
            counts={row[0]: row[1] for row in counted},
            oldest_ms=min(row[3] for row in counted),
            bases=self._ends(),
        )

    def _journal(self) -> list[str]:
        return self._lake.files.names("_journal")

    def _rows(self) -> DataFrame:
        asked = self._asked
        column = "event_time" if asked.by == "event" else "timestamp"
        rows = raw(self._spark, self._lake).filter(f.col("topic") == asked.topic)
        rows = rows.filter((f.col(column) >= _timestamp(asked.since_ms)) & (f.col(column) < _timestamp(asked.until_ms)))
        if asked.by == "event":
            rows = rows.filter(f.col("date").between(_date(asked.since_ms), _date(asked.until_ms)))
        rows = rows.withColumn("time", f.col(column))
        if asked.partitions == "same":
            return rows.withColumn("target", f.col("partition"))
        count = self._partitions
        hashed = f.udf(lambda key, partition: partition_of(key, count) if key is not None else partition % count, "int")
        return rows.withColumn("target", hashed("key", "partition"))

    def _slotted(self, plan: Plan, *first: str) -> DataFrame:
        """Each partition of the target whole in one task; the same order of its rows whenever it is asked."""
        slots = self._slots(plan)
        # Where Spark's hash puts a number: repartition takes no number of a task.
        numbers = self._spark.range(100 * (len(set(slots.values())) + 1))
        count = len(set(slots.values()))
        where = numbers.selectExpr("id", f"pmod(hash(id), {count}) AS slot").groupBy("slot").agg(f.min("id")).collect()
        key_of = dict(map(tuple, where))
        keys = f.create_map(*(f.lit(each) for target, slot in slots.items() for each in (target, key_of[slot])))
        names = f.create_map(*(f.lit(each) for pair in slots.items() for each in pair))
        rows = self._rows().filter(f.unix_micros("landed") <= plan.landed_us)
        rows = rows.withColumn("task", keys[f.col("target")]).withColumn("slot", names[f.col("target")])
        rows = rows.repartition(count, "task")
        # By time, but never before what the partition had before it.
        earlier = Window.partitionBy("task", "target", "partition").orderBy("landed", "offset")
        earlier = earlier.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        rows = rows.withColumn("moment", f.max("time").over(earlier))
        rows = rows.sortWithinPartitions(*first, "moment", "partition", "landed", "offset")
        return rows.selectExpr(*COLUMNS, *CONTENT)

    def _slots(self, plan: Plan) -> dict[int, int]:
        """Which task writes which partition of the target: about as many records each."""
        loads = [0] * min(len(plan.counts), self._spark.sparkContext.defaultParallelism)
        slots = {}
        for target, count in sorted(plan.counts.items(), key=lambda item: (-item[1], item[0])):
            slots[target] = loads.index(min(loads))
            loads[slots[target]] += count
        return slots

    def _rates(self, plan: Plan, rate: float | None) -> dict[int, float]:
        if rate is None:
            return {}
        rates: dict[int, float] = {}
        for target, slot in self._slots(plan).items():
            rates[slot] = rates.get(slot, 0) + rate * plan.counts[target] / plan.total
        return rates

    def _ends(self, *, at_rest: bool = False) -> dict[int, int]:
        look = self._cluster.ends_at_rest if at_rest else self._cluster.ends
        ends = look((self._asked.to_topic, number) for number in range(self._partitions))
        return {number: end for (_, number), end in ends.items()}

    def _check_target(self, plan: Plan) -> None:
        self._check_partitions(1 + max(plan.counts))
        name = self._asked.to_topic
        self._cluster.check_keeps_timestamps(name)
        config = self._cluster.config(name)
        kept_ms = int(config["retention.ms"])
        if "delete" in config["cleanup.policy"] and 0 <= kept_ms < time.time() * 1000 - plan.oldest_ms:
            self._say(
                f"{name} keeps records for {timedelta(milliseconds=kept_ms)}, and some are older: the cluster will "
                "delete those soon. Raise its retention.ms to keep them.",
                event="retention",
                retention_ms=kept_ms,
            )

    def _check_partitions(self, needed: int) -> None:
        if self._partitions < needed:
            name = self._asked.to_topic
            if not self._partitions:
                raise PipelineFailed(f"There is no topic {name} to replay into: create it.")
            raise PipelineFailed(
                f"{name} has {self._partitions} partitions, and {needed} are written to: add some, or spread the "
                "records anew with --partitions by-key."
            )

    def _check_what_is_there(self, plan: Plan, replaying: Replaying) -> None:
        there = {target: replaying.ends[target] - base for target, base in plan.bases.items()}
        self._say(
            f"Going on with a replay that has not ended: {sum(there.values()):,} of {plan.total:,} records are there. "
            f"To begin anew, delete {self._plans.uri(self._asked)}",
            event="resumed",
            records=sum(there.values()),
            of=plan.total,
        )
        for target, count in there.items():
            begin, most = plan.bases[target], plan.bases[target] + plan.counts.get(target, 0)
            if not 0 <= count <= most - begin:
                raise PipelineFailed(
                    f"{self._asked.to_topic}-{target} ends at {replaying.ends[target]}, which a replay from {begin} to "
                    f"{most} cannot have come to: somebody else writes into it, or it was created again. {ANEW}"
                )
        self._run(partial(check, replaying), self._slotted(plan, "target"), None)

    def _run(self, task: Callable[..., Any], rows: DataFrame, plan: Plan | None) -> list[Any]:
        """In a thread, so that there is one to tell how far it is."""
        found: list[Any] = []
        failed: list[Exception] = []

        def collect() -> None:
            try:
                found.extend(rows.rdd.mapPartitions(task).collect())
            except (Py4JError, PySparkException) as error:
                failed.append(error)

        thread = threading.Thread(target=collect, daemon=True)
        thread.start()
        telling = _Telling(self._say, plan) if plan is not None else None
        with told_to_end() as told:
            while thread.is_alive():
                thread.join(_LOOK_S)
                if told:
                    self._spark.sparkContext.cancelAllJobs()
                elif telling is not None:
                    telling.tell(self._ends)
        if told and failed:
            raise PipelineFailed("The replay was told to end before it was done: start the same again, and it goes on.")
        if failed:
            raise in_words(failed[0]) from failed[0]
        return found

    def _tell_plan(self, plan: Plan) -> None:
        for target, count in sorted(plan.counts.items()):
            name = f"{self._asked.to_topic}-{target}"
            self._say(
                f"{name}: {count:,} records from offset {plan.bases[target]} on",
                event="plan",
                partition=target,
                records=count,
                offset=plan.bases[target],
            )


class _Telling:
    """How far a replay is, as the target shows it; not so often that nobody reads it."""

    def __init__(self, say: Say, plan: Plan) -> None:
        self._say = say
        self._plan = plan
        self._told = 0
        self._told_at = time.monotonic()

    def tell(self, ends: Callable[[], Mapping[int, int]]) -> None:
        try:
            there = sum(end - self._plan.bases[target] for target, end in ends().items())
        except PipelineFailed:
            return  # the tasks will say it, if it lasts
        now = time.monotonic()
        if there - self._told < self._plan.total * _TELL_EVERY_PART and now - self._told_at < _TELL_EVERY_S:
            return
        self._told, self._told_at = there, now
        self._say(f"{there:,} of {self._plan.total:,} records", event="progress", records=there, of=self._plan.total)


def _timestamp(ms: int) -> Column:
    """The last there can be for what is beyond it."""
    return f.timestamp_micros(f.lit(max(min(ms * 1000, _LONG), -_LONG)))


def _date(ms: int) -> str:
    """Of a lake's directory; the first or last there can be for what is beyond it."""
    try:
        return f"{_EPOCH + timedelta(milliseconds=ms):%Y-%m-%d}"
    except OverflowError:
        return "0000" if ms < 0 else "9999-99"
