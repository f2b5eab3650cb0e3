"""Consuming what is in the page cache, with Kafka's own tool and with librdkafka."""

from __future__ import annotations

from collections.abc import Iterator

from bench import kafkas_tools, work
from bench.family import Value, family, rate_and_cost
from bench.plan import Plan
from bench.side import Side

TOPIC, PARTITIONS = "consumed", 4
CONSUMERS = (1, 4)
BESIDE_A_SECOND, BESIDE_BYTES = 20_000, 100


@family("consume.kafka")
def kafkas_consumer(side: Side, plan: Plan) -> Iterator[Value]:
    """Kafka's consumer in a group, once it has its partitions: records of 100 B, or of 1 KB, from 4 partitions."""
    for record_bytes, records in ((100, plan.records), (1000, plan.part(4))):
        topic = f"{TOPIC}-{record_bytes}"
        work.fill(side, topic, records, record_bytes=record_bytes)
        before_s = side.cpu_s()
        per_second = kafkas_tools.consume(side, topic, records)
        used_s = side.cpu_s() - before_s
        yield from rate_and_cost(f"{record_bytes} B", "records", count=records, per_second=per_second, used_s=used_s)


@family("consume.librdkafka")
def librdkafka(side: Side, plan: Plan) -> Iterator[Value]:
    """librdkafka: records of 100 B from 4 partitions, from when each consumer has its own."""
    work.fill(side, TOPIC, plan.records)
    yield from consumers(side, plan)


@family("consume.while-producing")
def while_producing(side: Side, plan: Plan) -> Iterator[Value]:
    """The same while Kafka's producer sends 20,000 records of 100 B a second to another topic; what the broker spends
    on these is in its CPU."""
    work.fill(side, TOPIC, plan.records)
    with work.producing(side, BESIDE_A_SECOND, BESIDE_BYTES):
        yield from consumers(side, plan)


def consumers(side: Side, plan: Plan) -> Iterator[Value]:
    for count in CONSUMERS:
        for group in (None, f"readers-{count}"):
            options = {"records": plan.records, "clients": count, "partitions": PARTITIONS}
            before_s = side.cpu_s()
            told = work.librdkafka(side, "consume", TOPIC, **options, **({"group": group} if group else {}))
            used_s = side.cpu_s() - before_s
            what = f"{count} consumer{'s' if count > 1 else ''}, {'a' if group else 'no'} group"
            yield from rate_and_cost(
                what, "records", count=told["records"], per_second=told["per_second"], used_s=used_s
            )
