"""Producing, with Kafka's own tool and with librdkafka."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bench import kafkas_tools, work
from bench.family import Value, family, rate_and_cost
from bench.kafkas_tools import Load
from bench.plan import Plan
from bench.side import Side

CODECS = ("gzip", "snappy", "lz4", "zstd")
PRODUCERS = 8


@family("produce.batches")
def batches(side: Side, plan: Plan) -> Iterator[Value]:
    """Kafka's producer: 100 B, acks=all, no codec, 4 partitions, and one of these changed at a time."""
    yield from with_kafkas_tool(side, "100 B, acks=all", plan.records)
    yield from with_kafkas_tool(side, "1 KB", plan.part(4), record_bytes=1000)
    for acks in ("0", "1"):
        yield from with_kafkas_tool(side, f"acks={acks}", plan.records, acks=acks)
    for partitions in (1, 100):
        yield from with_kafkas_tool(
            side, f"{partitions} partition{'s' if partitions > 1 else ''}", plan.records, partitions=partitions
        )


@family("produce.codecs")
def codecs(side: Side, plan: Plan) -> Iterator[Value]:
    """Kafka's producer: 100 B, acks=all, 4 partitions, the codec of the row."""
    for codec in CODECS:
        yield from with_kafkas_tool(side, codec, plan.part(2), compression_type=codec)


@family("produce.one-record")
def one_record(side: Side, plan: Plan) -> Iterator[Value]:
    """Kafka's producer with batch.size=1: one record of 100 B a batch, acks=all, 4 partitions."""
    yield from with_kafkas_tool(side, "one record a batch", plan.part(20), batch_size="1")


@family("produce.librdkafka")
def librdkafka(side: Side, plan: Plan) -> Iterator[Value]:
    """librdkafka: 100 B, acks=all, 4 partitions."""
    for producers in (1, PRODUCERS):
        topic = f"producers-{producers}"
        side.create(topic, 4)
        before_s = side.cpu_s()
        told = work.librdkafka(side, "produce", topic, records=plan.records, clients=producers)
        side.check_records(topic, 4, int(told["records"]))
        used_s = side.cpu_s() - before_s
        what = f"{producers} producers" if producers > 1 else "1 producer"
        yield from rate_and_cost(what, "records", count=told["records"], per_second=told["per_second"], used_s=used_s)


def with_kafkas_tool(
    side: Side, what: str, records: int, *, partitions: int = 4, record_bytes: int = 100, **properties: str
) -> Iterator[Value]:
    load = Load(re.sub(r"\W+", "-", what), records, record_bytes, warm_up=records // 4)
    side.create(load.topic, partitions)

    before_s = side.cpu_s()
    per_second = kafkas_tools.produce(side, load, **properties)
    side.check_records(load.topic, partitions, load.sent)
    yield from rate_and_cost(what, "records", count=load.sent, per_second=per_second, used_s=side.cpu_s() - before_s)
