"""Three nodes that start at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench.cluster.family import family
from bench.cluster.side import ClusterSide
from bench.family import Value
from bench.filling import write_to
from bench.plan import Plan

TOPIC = "filled"


@family("starts", is_warm=False)
def starts(side: ClusterSide, plan: Plan) -> Iterator[Value]:
    """Until each of them answers and knows the others: on empty directories, which Kafka has formatted before; then
    with partitions on each that have a record of 1 KB: after a clean stop, and after kill -9 of all."""
    yield from ready(side, "empty directories", side.started_s)
    count = plan.partitions[0]
    side.create(TOPIC, count)
    for leader, numbers in side.led(TOPIC).items():
        with side.connection(leader) as connection:
            write_to(connection, side, TOPIC, numbers)
    yield from again(side, f"{count:,} partitions, clean stop", side.cluster.stop_all)
    yield from again(side, f"{count:,} partitions, killed", side.cluster.kill_all)
    side.wait_in_sync(TOPIC, count)
    side.check_records(TOPIC, count, count)


def again(side: ClusterSide, what: str, end: Callable[[], None]) -> Iterator[Value]:
    end()
    side.start()
    yield from ready(side, what, side.started_s)


def ready(side: ClusterSide, what: str, took_s: float) -> Iterator[Value]:
    used_s = side.cpu_s()
    yield Value(what, took_s * 1e3, "ms", more_is_better=False)
    yield Value(f"{what}: brokers' CPU", used_s * 1e3, "ms", more_is_better=False)
