"""From the start of the process to the first answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench import work
from bench.family import Value, family
from bench.filling import write_to_all
from bench.plan import Plan
from bench.side import Side

TOPIC, PARTITIONS = "filled", 4
RECORD_BYTES = 1000
MIB = 1 << 20


@family("starts.partitions", is_warm=False)
def partitions(side: Side, plan: Plan) -> Iterator[Value]:
    """On an empty directory, which Kafka has formatted before; then with partitions that have a record of 1 KB each:
    after a clean stop, after kill -9, and after kill -9 when all of them have been written to."""
    yield from ready(side, "empty directory", side.started_s)
    count = plan.partitions[0]
    side.create(TOPIC, count)
    write_to_all(side, TOPIC, count)
    what = f"{count:,} partitions"
    yield from again(side, f"{what}, clean stop", side.broker.stop)
    side.check_records(TOPIC, count, count)
    yield from again(side, f"{what}, killed, nothing written", side.broker.kill)
    side.wait_until_led(TOPIC, count)
    write_to_all(side, TOPIC, count)
    yield from again(side, f"{what}, killed, all written to", side.broker.kill)
    side.check_records(TOPIC, count, 2 * count)


@family("starts.killed", is_warm=False)
def killed(side: Side, plan: Plan) -> Iterator[Value]:
    """After kill -9 with so much data in 4 partitions, of records of 1 KB."""
    records = plan.killed_mib * MIB // RECORD_BYTES
    work.fill(side, TOPIC, records, record_bytes=RECORD_BYTES, partitions=PARTITIONS)
    yield from again(side, f"{plan.killed_mib:,} MiB", side.broker.kill)
    side.check_records(TOPIC, PARTITIONS, records)


def again(side: Side, what: str, end: Callable[[], None]) -> Iterator[Value]:
    end()
    yield from ready(side, what, side.broker.start())


def ready(side: Side, what: str, took_s: float) -> Iterator[Value]:
    used_s = side.cpu_s()
    yield Value(what, took_s * 1e3, "ms", more_is_better=False)
    yield Value(f"{what}: broker's CPU", used_s * 1e3, "ms", more_is_better=False)
