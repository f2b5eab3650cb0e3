"""Producing to three replicas."""

from __future__ import annotations

from collections.abc import Iterator

from bench import work
from bench.cells.produce import with_kafkas_tool
from bench.cluster.family import family
from bench.cluster.side import ClusterSide
from bench.family import Value, rate_and_cost
from bench.plan import Plan

PARTITIONS = (1, 6)
SIZES = ((1000, 4), (100, 1))
"""Bytes of a record, and of the plan's records the part that a cell carries."""
MANY_PARTITIONS = 60
PRODUCERS = 4
REQUESTED = "requested"
LED_BY = 2


@family("produce.kafka")
def kafkas_producer(side: ClusterSide, plan: Plan) -> Iterator[Value]:
    """Kafka's producer, acks=all, three replicas of which two have to be in sync; the processor time is that of all
    nodes."""
    for record_bytes, part in SIZES:
        for partitions in PARTITIONS:
            what = f"{record_bytes} B, {_named(partitions)}"
            records = plan.part(part * 2)
            yield from with_kafkas_tool(side, what, records, partitions=partitions, record_bytes=record_bytes)
    what = f"1000 B, {_named(MANY_PARTITIONS)}"
    yield from with_kafkas_tool(side, what, plan.part(8), partitions=MANY_PARTITIONS, record_bytes=1000)


@family("produce.librdkafka")
def librdkafka(side: ClusterSide, plan: Plan) -> Iterator[Value]:
    """The same with librdkafka."""
    for record_bytes, part in SIZES:
        for partitions in PARTITIONS:
            yield from produced(side, record_bytes, partitions, plan.part(part), 1)
        yield from produced(side, record_bytes, PARTITIONS[-1], plan.part(part), PRODUCERS)


def produced(side: ClusterSide, record_bytes: int, partitions: int, records: int, clients: int) -> Iterator[Value]:
    what = f"{record_bytes} B, {_named(partitions)}, {clients} producer{'s' if clients > 1 else ''}"
    topic = f"librdkafka-{record_bytes}-{partitions}-{clients}"
    side.create(topic, partitions)
    before_s = side.cpu_s()
    told = work.librdkafka(side, "produce", topic, records=records, record_bytes=record_bytes, clients=clients)
    side.check_records(topic, partitions, int(told["records"]))
    used_s = side.cpu_s() - before_s
    yield from rate_and_cost(what, "records", count=told["records"], per_second=told["per_second"], used_s=used_s)


@family("produce.requests")
def requests(side: ClusterSide, plan: Plan) -> Iterator[Value]:
    """Produce with one record of 100 B, acks=all, to 6 partitions that one node leads, by a raw client: so many
    connections with one request in flight each, and 8 with 8 in flight."""
    side.create_led_by(LED_BY, REQUESTED, PARTITIONS[-1])
    for connections, in_flight in ((1, 1), (20, 1), (8, 8)):
        what = f"{connections} connection{'s' if connections > 1 else ''}, {in_flight} in flight"
        options = {"connections": connections, "in_flight": in_flight, "numbers": PARTITIONS[-1]}
        before_s = side.cpu_s()
        told = work.load_at(side, side.address(LED_BY), "produce", REQUESTED, **options, seconds=plan.seconds)
        used_s = side.cpu_s() - before_s
        yield from rate_and_cost(what, "requests", count=told["answers"], per_second=told["per_second"], used_s=used_s)
        for quantile in ("p50", "p99"):
            if quantile in told:
                yield Value(f"{what}: {quantile}", told[quantile], "µs", more_is_better=False)


def _named(partitions: int) -> str:
    return f"{partitions} partition{'s' if partitions > 1 else ''}"
