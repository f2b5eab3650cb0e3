"""The same at 1, 10 and 100 times of something: what a request costs then."""

from __future__ import annotations

from collections.abc import Iterator

from bench import work
from bench.family import Value, family
from bench.filling import write_same, write_to_all
from bench.plan import Plan
from bench.side import Side
from compat.twin.batches import batch

TOPIC = "grown"
CONNECTIONS = 8
MIB = 1 << 20
RECORD_BYTES, RECORDS_A_BATCH = 1000, 16
PLACES = 1000
"""At so many of a log is read."""


@family("growth.partitions")
def partitions(side: Side, plan: Plan) -> Iterator[Value]:
    """Produce with one record of 100 B to so many partitions in turns, by 8 connections."""
    for scale in plan.scales:
        topic = f"of-{scale}"
        side.create(topic, scale)
        yield cost(side, plan, "Produce to so many partitions", scale, "produce", topic, numbers=scale)


@family("growth.connections")
def connections(side: Side, plan: Plan) -> Iterator[Value]:
    """Produce with one record of 100 B by so many connections, to 8 partitions."""
    side.create(TOPIC, CONNECTIONS)
    for scale in plan.scales:
        what = "Produce by so many connections"
        yield cost(side, plan, what, scale, "produce", TOPIC, connections=scale, numbers=CONNECTIONS)


@family("growth.log")
def log(side: Side, plan: Plan) -> Iterator[Value]:
    """Fetch of one batch of 16 KB, at 1,000 places of a log of so many MiB in turns, by 8 connections."""
    records = batch(*[bytes(RECORD_BYTES)] * RECORDS_A_BATCH)
    for scale in plan.scales:
        topic = f"of-{scale}-mib"
        batches = scale * MIB // len(records)
        side.create(topic)
        write_same(side, topic, batches, records)
        places = min(batches, PLACES)
        step = batches // places * RECORDS_A_BATCH
        yield cost(side, plan, "Fetch from so many MiB", scale, "fetch", topic, numbers=places, step=step)


@family("growth.groups")
def groups(side: Side, plan: Plan) -> Iterator[Value]:
    """OffsetCommit for so many groups in turns, by 8 connections."""
    side.create(TOPIC, 1)
    side.wait_for_coordinators()
    for scale in plan.scales:
        yield cost(side, plan, "OffsetCommit for so many groups", scale, "offset-commit", TOPIC, numbers=scale)


@family("growth.starts", is_warm=False)
def starts(side: Side, plan: Plan) -> Iterator[Value]:
    """A start after a clean stop, with so many partitions that have a record of 1 KB each."""
    there = 0
    for scale in plan.scales:
        topic = f"of-{scale}"
        side.create(topic, scale - there)
        write_to_all(side, topic, scale - there)
        there = scale
        side.broker.stop()
        took_s = side.broker.start()
        side.wait_until_led(topic, 1)
        yield Value("Start with so many partitions", took_s * 1e3, "ms", more_is_better=False, scale=scale)


def cost(side: Side, plan: Plan, what: str, scale: int, request: str, topic: str, **options: int) -> Value:
    before_s = side.cpu_s()
    told = work.load(side, request, topic, **{"connections": CONNECTIONS, **options}, seconds=plan.seconds)
    used_s = side.cpu_s() - before_s
    return Value(what, used_s / told["answers"] * 1e6, "µs of CPU", more_is_better=False, scale=scale)
