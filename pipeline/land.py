"""land: topics into the lake, each record once.

Spark hands over one batch after the other and remembers in its checkpoint which ones are done; a batch that was not
done comes again under its number, with the same records. The lake's journal says of every batch whether it is in.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from barnabas.pipeline.checkpoints import Checkpoint
from barnabas.pipeline.cluster import check_reachable
from barnabas.pipeline.decoding import Decoder, decoders
from barnabas.pipeline.events import with_events
from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.lake import Entry, Lake
from barnabas.pipeline.merging import directories_of, merge
from barnabas.pipeline.progress import Say
from barnabas.pipeline.reading import starting_offsets, stream, wanted_topics
from barnabas.pipeline.running import Work, run, trigger
from barnabas.pipeline.schemas import version_of
from barnabas.pipeline.settings import Settings
from barnabas.pipeline.tables import OF_RECORD, PLACE, RAW

__all__ = ["land"]


def land(spark: SparkSession, settings: Settings, *, catch_up: bool, say: Say) -> None:
    """Until it is told to stop; or, to catch up, until all is landed that was there at the start."""
    wanted = settings.land
    which = wanted_topics(wanted.topics, wanted.pattern, "[land]")
    known = decoders(spark, settings)
    check_reachable(settings.bootstrap)
    lake = Lake(spark, settings.place(settings.lake.path))
    lake.open()
    checkpoint = Checkpoint(spark, settings.place(wanted.checkpoint))
    checkpoint.check_belongs_to(lake)
    start: str = wanted.start
    if lake.ends and checkpoint.is_new:
        start = starting_offsets(spark, settings, which, lake.ends)
    records = stream(
        spark,
        settings,
        {
            **which,
            "startingOffsets": start,
            "maxOffsetsPerTrigger": str(wanted.records_per_batch),
            "failOnDataLoss": str(wanted.fail_on_data_loss).lower(),
        },
    )
    landing = _Landing(spark, settings, lake, known, checkpoint.name, say)
    writer = records.writeStream.queryName("land").option("checkpointLocation", checkpoint.place)
    run([Work(writer.trigger(**trigger(wanted.every_seconds, catch_up=catch_up)), landing.take)])
    landing.tell_sum()


class _Landing:
    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        lake: Lake,
        known: dict[str, Decoder],
        checkpoint: str,
        say: Say,
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._lake = lake
        self._decoders = known
        self._checkpoint = checkpoint
        self._say = say
        self._records = self._batches = 0

    def take(self, records: DataFrame, batch: int) -> None:
        """One batch, from Spark; what is in already is passed over."""
        last = self._lake.last
        if last is not None and last.checkpoint == self._checkpoint and batch <= last.batch:
            return
        began = time.monotonic()
        events = with_events(records, self._decoders, self._settings.land, datetime.now(UTC)).persist()
        try:
            entry = self._write(events, batch)
        finally:
            events.unpersist()
        if entry is None:
            return
        self._lake.commit(entry)
        merged = merge(self._spark, self._lake, directories_of(entry.moves), self._settings.lake)
        self._tell(entry, merged, time.monotonic() - began)

    def _write(self, events: DataFrame, batch: int) -> Entry | None:
        counts = (
            events.groupBy("topic", "partition")
            .agg(f.count("*"), f.min("offset"), f.max("offset"), f.count("reason"))
            .collect()
        )
        if not counts:
            return None
        ends = {topic: dict(partitions) for topic, partitions in self._lake.ends.items()}
        for topic, partition, _, first, final, _ in counts:
            self._check_not_before(topic, partition, first)
            ends.setdefault(topic, {})[str(partition)] = final + 1
        quarantined = sum(row[5] for row in counts)
        number = self._lake.next_number
        place = self._lake.stage("batch")
        self._write_tables(events, place, {row[0] for row in counts}, quarantined > 0)
        return Entry(
            number=number,
            kind="batch",
            checkpoint=self._checkpoint,
            batch=batch,
            records=sum(row[2] for row in counts),
            quarantined=quarantined,
            ends=ends,
            moves=self._lake.staged(place, f"batch-{number:08}"),
        )

    def _check_not_before(self, topic: str, partition: int, first: int) -> None:
        """A checkpoint that is new to this lake begins where the lake ends, unless the lake has grown since."""
        last = self._lake.last
        if last is None or last.checkpoint == self._checkpoint:
            return
        if first < last.ends.get(topic, {}).get(str(partition), 0):
            raise PipelineFailed(
                f"The checkpoint would land {topic}-{partition} from {first} on, which is in the lake already: delete "
                "the checkpoint, and the job goes on where the lake ends."
            )

    def _write_tables(self, events: DataFrame, place: str, topics: set[str], some_quarantined: bool) -> None:
        uri = self._lake.files.uri(place)
        tasks = events.coalesce(self._spark.sparkContext.defaultParallelism)
        tasks.select(*RAW.names, *PLACE.names).write.partitionBy(*PLACE.names).parquet(f"{uri}/raw")
        good = tasks.filter("reason IS NULL")
        for topic in sorted(topics & self._decoders.keys()):
            fields = self._decoders[topic].fields
            version = version_of(self._lake.files, topic, fields)
            of_topic = good.filter(f.col("topic") == topic)
            kafka = f.struct(*OF_RECORD.names).alias("kafka")
            values = [f.col("events").getItem(topic).getField(name).alias(name) for name in fields.names]
            rows = of_topic.select(kafka, *values, *PLACE.names[1:])
            rows.write.partitionBy(*PLACE.names[1:]).parquet(f"{uri}/decoded/{topic}/version={version}")
        if some_quarantined:
            bad = tasks.filter("reason IS NOT NULL").select(*RAW.names, "reason", *PLACE.names)
            bad.write.partitionBy(*PLACE.names).parquet(f"{uri}/quarantine")

    def tell_sum(self) -> None:
        sentence = f"{self._records:,} records have landed" if self._batches else "nothing was left to land"
        self._say(sentence, event="done", records=self._records, batches=self._batches)

    def _tell(self, entry: Entry, merged: int, seconds: float) -> None:
        self._batches += 1
        self._records += entry.records
        parts = [f"{entry.records:,} records in {seconds:.1f} s"]
        if entry.quarantined:
            parts.append(f"{entry.quarantined:,} quarantined")
        if merged:
            parts.append(f"{merged} files merged")
        self._say(
            f"batch {entry.batch}: {', '.join(parts)}",
            event="batch",
            batch=entry.batch,
            records=entry.records,
            quarantined=entry.quarantined,
            merged=merged,
            seconds=round(seconds, 3),
        )
