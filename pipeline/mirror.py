"""mirror: topics of one cluster into another, each record once, with its partition, key, headers and timestamp.

Before records are sent, it is written into a topic of the target which offsets they will have there. So where a
partition of the target ends says what has arrived, whenever the mirror, an executor or a broker was killed: nothing is
asked of Spark's checkpoint but where to read on.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from barnabas.pipeline.checkpoints import Checkpoint
from barnabas.pipeline.cluster import check_reachable
from barnabas.pipeline.copying.group_offsets import copy_groups
from barnabas.pipeline.copying.map_topic import CONFIG, MapTopic
from barnabas.pipeline.copying.mirroring import ANEW, MOVED, Copying, Position, Sent, copy
from barnabas.pipeline.copying.rows import CONTENT
from barnabas.pipeline.copying.source_cluster import SourceCluster, SourceTopic
from barnabas.pipeline.copying.target_cluster import TargetCluster
from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.lake import Ends
from barnabas.pipeline.progress import Say
from barnabas.pipeline.reading import starting_offsets, stream, wanted_topics
from barnabas.pipeline.running import Work, run, trigger
from barnabas.pipeline.settings import Mirror, Settings
from barnabas.pipeline.troubles import in_words

__all__ = ["mirror"]

_ATTEMPTS = 3
"""Of a batch whose tasks were given up with their executors: each begins where the target ends."""


def mirror(spark: SparkSession, settings: Settings, *, catch_up: bool, groups: str | None, say: Say) -> None:
    """Until it is told to stop; or, to catch up, until all is copied that was there at the start."""
    wanted = settings.mirror
    which = _without_its_own(wanted_topics(wanted.topics, wanted.pattern, "[mirror]"), wanted)
    if not wanted.kafka.get("bootstrap.servers"):
        raise PipelineFailed('[mirror] names no target: give it kafka = {"bootstrap.servers" = "HOST:PORT"}.')
    check_reachable(settings.bootstrap)
    check_reachable(str(wanted.kafka["bootstrap.servers"]))
    if spark.conf.get("spark.speculation", "false") == "true":
        raise PipelineFailed("spark.speculation lets two tasks write the same partition: leave it off.")
    source = SourceCluster(spark, settings)
    try:
        mirroring = _Mirroring(spark, settings, which, source, say)
        mirroring.prepare()
        work = Work(mirroring.writer(catch_up), mirroring.take)
        if groups is None:
            run([work])
        else:
            _check_pattern(groups)
            with _Repeatedly(partial(mirroring.copy_groups, groups), None if catch_up else wanted.every_seconds, say):
                run([work])
            mirroring.copy_groups(groups)
        mirroring.tell_sum()
    finally:
        source.close()


def _without_its_own(which: Mapping[str, str], wanted: Mirror) -> dict[str, str]:
    """What it has made itself is not mirrored again, where the target is the source too or is mirrored back."""
    if "subscribe" in which:
        return dict(which)
    _check_pattern(which["subscribePattern"])
    own = f"|{re.escape(wanted.prefix)}.*" if wanted.prefix else ""
    return {"subscribePattern": f"(?!(?:__.*|{re.escape(wanted.offsets_topic)}{own})$)(?:{which['subscribePattern']})"}


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise PipelineFailed(f"{pattern} is no pattern: {error}.") from None


class _Mirroring:
    def __init__(
        self, spark: SparkSession, settings: Settings, which: dict[str, str], source: SourceCluster, say: Say
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._wanted = settings.mirror
        self._which = which
        self._source = source
        self._say = say
        self._reading = settings.mirror_properties()
        self._target = TargetCluster(self._reading)
        self._map = MapTopic(self._wanted.offsets_topic, self._reading)
        self._lock = threading.Lock()
        self._records = self._batches = 0

    def prepare(self) -> None:
        if not self._wanted.prefix and self._source.id() == self._target.id():
            raise PipelineFailed("[mirror] kafka is the cluster that is read: give a prefix, or name another cluster.")
        name = self._wanted.offsets_topic
        self._target.ensure(name, 1, self._target.partitions().get(name, 0), lambda: CONFIG)
        topics = self._topics()
        missing = [name for name in self._which.get("subscribe", "").split(",") if name and name not in topics]
        if missing:
            raise PipelineFailed(f"There is no topic {missing[0]} to mirror: create it, or take it out of [mirror].")
        self._positions(topics, at_rest=True)  # what cannot be is said before Spark is asked for anything

    def writer(self, catch_up: bool) -> Any:
        wanted = self._wanted
        checkpoint = Checkpoint(self._spark, self._settings.place(wanted.checkpoint))
        start: str = wanted.start
        ends = self._next_offsets()
        if ends and checkpoint.is_new:
            start = starting_offsets(self._spark, self._settings, self._which, ends)
        records = stream(
            self._spark,
            self._settings,
            {
                **self._which,
                "startingOffsets": start,
                "maxOffsetsPerTrigger": str(wanted.records_per_batch),
                "failOnDataLoss": str(wanted.fail_on_data_loss).lower(),
                "kafka.isolation.level": "read_committed",  # what a transaction has taken back is no record
            },
        )
        query = records.writeStream.queryName("mirror").option("checkpointLocation", checkpoint.place)
        return query.trigger(**trigger(wanted.every_seconds, catch_up=catch_up))

    def take(self, records: DataFrame, batch: int) -> None:
        """One batch, from Spark. What of it is at the target already is passed over."""
        began = time.monotonic()
        done = self._copy(records.selectExpr("topic", "partition", "offset", *CONTENT))
        seconds = time.monotonic() - began
        count = sum(sent.records for sent in done)
        self._records += count
        self._batches += 1
        self._say(
            f"batch {batch}: {count:,} records of {len(done)} partitions in {seconds:.1f} s",
            event="batch",
            batch=batch,
            records=count,
            bytes=sum(sent.bytes for sent in done),
            seconds=round(seconds, 3),
        )

    def tell_sum(self) -> None:
        sentence = f"{self._records:,} records have been copied" if self._batches else "nothing was left to copy"
        self._say(sentence, event="done", records=self._records, batches=self._batches)

    def _copy(self, rows: DataFrame) -> list[Sent]:
        for attempt in range(1, _ATTEMPTS + 1):
            topics = self._topics()
            copying = Copying(
                self._reading,
                self._settings.mirror_producer_properties(),
                self._wanted.offsets_topic,
                {name: self._wanted.prefix + name for name in topics},
                self._positions(topics, at_rest=attempt > 1),
            )
            try:
                return [Sent(*sent) for sent in rows.rdd.mapPartitions(partial(copy, copying)).collect()]
            except (Py4JError, PySparkException) as error:
                if MOVED not in str(error) or attempt == _ATTEMPTS:
                    raise in_words(error) from error
        raise AssertionError("the last attempt returns or raises")

    def _topics(self) -> dict[str, SourceTopic]:
        """Those that are to be mirrored, each there at the target with as many partitions."""
        topics = self._source.topics(self._source.names(self._which))
        there = self._target.partitions()
        for name, topic in topics.items():
            to = self._wanted.prefix + name
            done = self._target.ensure(to, topic.partitions, there.get(to, 0), partial(self._source.config, name))
            if done is not None:
                self._say(f"{to} {done}: {topic.partitions} partitions", event="topic", topic=to, done=done)
        return topics

    def _positions(
        self, topics: Mapping[str, SourceTopic], *, at_rest: bool = False
    ) -> dict[tuple[str, int], Position]:
        prefix = self._wanted.prefix
        places = [(name, number) for name, topic in topics.items() for number in range(topic.partitions)]
        with self._lock:
            there = [(prefix + name, number) for name, number in places]
            if at_rest:
                self._map.refresh()
                at_rest = any(self._map.of(*place).planned_end > self._map.of(*place).sure for place in there)
            # The ends first: what has arrived was planned before.
            ends = self._target.ends_at_rest(there) if at_rest else self._target.ends(there)
            self._map.refresh()
            return {
                (name, number): self._position(name, number, topics[name].id, ends[prefix + name, number])
                for name, number in places
            }

    def _position(self, name: str, number: int, id_of_topic: str, end: int) -> Position:
        to = self._wanted.prefix + name
        copied = self._map.of(to, number)
        if end > copied.planned_end:
            raise PipelineFailed(
                f"{to}-{number} ends at {end} at the target, and the mirror has written up to {copied.planned_end}: "
                f"somebody else writes into it. {ANEW}"
            )
        if end < copied.sure:
            raise PipelineFailed(
                f"{to}-{number} ends at {end} at the target, and was mirrored up to {copied.sure}: it has lost "
                f"records, or was created again. {ANEW}"
            )
        arrived = copied.arrived(end)
        next_source = arrived.next_source(id_of_topic)
        again = arrived.last_runs(id_of_topic, next_source - self._wanted.records_per_batch)
        return Position(id_of_topic, end, next_source, arrived.runs[-1] if arrived.runs else None, again)

    def _next_offsets(self) -> Ends:
        ends: Ends = {}
        topics = self._source.topics(self._source.names(self._which))
        for (name, number), position in self._positions(topics).items():
            if position.last is not None:
                ends.setdefault(name, {})[str(number)] = position.next_source
        return ends

    def copy_groups(self, pattern: str) -> None:
        topics = self._source.topics(self._source.names(self._which))
        prefix = self._wanted.prefix
        places = [(name, number) for name, topic in topics.items() for number in range(topic.partitions)]
        with self._lock:
            there = [(name, number) for name, number in places if self._map.of(prefix + name, number).runs]
            ends = self._target.ends((prefix + name, number) for name, number in there)
            self._map.refresh()
            maps = {
                (name, number): self._map.of(prefix + name, number).arrived(ends[prefix + name, number])
                for name, number in there
            }
        ids = {name: topic.id for name, topic in topics.items()}
        copy_groups(self._source, self._target, pattern, maps, ids, prefix, self._say)


class _Repeatedly:
    """Beside the query, which has no batches while nothing is written."""

    def __init__(self, act: Any, every_seconds: float | None, say: Say) -> None:
        self._act = act
        self._every_seconds = every_seconds
        self._say = say
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        if self._every_seconds is not None:
            self._thread.start()

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        if self._every_seconds is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._every_seconds):
            try:
                self._act()
            except PipelineFailed as error:
                self._say(f"Groups were not copied: {error}", event="groups", error=str(error))
