"""From a producer to a consumer, one record after the other, alone and beside what disturbs."""

from __future__ import annotations

from collections.abc import Iterator

from bench import kafkas_tools, work
from bench.family import Value, family
from bench.plan import Plan
from bench.side import Side

TOPIC = "latency"
RECORD_BYTES = 100
HEAVY_A_SECOND, HEAVY_BYTES = 20_000, 1000
OLD, OLD_BYTES = "old", 1000
MIB = 1 << 20


@family("latency.light")
def light(side: Side, plan: Plan) -> Iterator[Value]:
    """End to end, nothing else going on: records of 100 B, acks=all, the next one when the last has come. Percentiles
    are of librdkafka; Kafka's own tool, which tells them in whole milliseconds, has the average."""
    yield from latencies(side, plan)


@family("latency.heavy")
def heavy(side: Side, plan: Plan) -> Iterator[Value]:
    """The same beside Kafka's producer, which sends 20,000 records of 1 KB a second to another topic."""
    with work.producing(side, HEAVY_A_SECOND, HEAVY_BYTES):
        yield from latencies(side, plan)


@family("latency.beside-old-data")
def beside_old_data(side: Side, plan: Plan) -> Iterator[Value]:
    """The same beside a consumer that reads what has been dropped from the page cache, again and again."""
    records = plan.old_mib * MIB // OLD_BYTES
    work.fill(side, OLD, records, record_bytes=OLD_BYTES, partitions=1)
    with work.reading_old(side, OLD, records):
        yield from latencies(side, plan)


@family("latency.beside-write-back")
def beside_write_back(side: Side, plan: Plan) -> Iterator[Value]:
    """The same while something else writes a gigabyte to the same disk and syncs it, again and again."""
    with work.writing_back(side):
        yield from latencies(side, plan)


def latencies(side: Side, plan: Plan) -> Iterator[Value]:
    side.create(TOPIC, 1)
    told = work.librdkafka(side, "latency", TOPIC, records=plan.latencies, record_bytes=RECORD_BYTES)
    for name, took_us in told.items():
        yield Value(name, took_us, "µs", more_is_better=False)
    average_ms = kafkas_tools.end_to_end_ms(side, TOPIC, plan.latencies, RECORD_BYTES)
    yield Value("average, Kafka's tool", average_ms * 1e3, "µs", more_is_better=False)
