"""Many partitions: made, and written to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from bench.family import Value, family
from bench.filling import write_to_all
from bench.plan import Plan
from bench.side import Side


@family("partitions.one-topic")
def one_topic(side: Side, plan: Plan) -> Iterator[Value]:
    """A topic of so many partitions: asked for until all are led; then a record of 1 KB to each, acks=all, 100
    partitions a request, one request at a time."""
    for partitions in plan.partitions:
        topic = f"many-{partitions}"
        yield from timed(side, f"{partitions:,} partitions made", side.create, topic, partitions)
        yield from timed(side, f"{partitions:,} partitions written to", write_to_all, side, topic, partitions)


@family("partitions.topics")
def topics(side: Side, plan: Plan) -> Iterator[Value]:
    """Topics of one partition, made by one request and one by one; and a clean stop with all of them."""
    names = [f"once-{number}" for number in range(plan.topics)]
    with side.connection() as connection:

        def at_once() -> None:
            side.ask_for_topics(connection, dict.fromkeys(names, 1))
            side.wait_until_led(names[-1], 1)

        def one_by_one() -> None:
            for number in range(plan.topics):
                side.ask_for_topics(connection, {f"each-{number}": 1})
            side.wait_until_led(f"each-{plan.topics - 1}", 1)

        yield from timed(side, f"{plan.topics:,} topics by one request", at_once)
        yield from timed(side, f"{plan.topics:,} topics one by one", one_by_one)
    began = time.perf_counter()
    side.broker.stop()
    yield Value(
        f"stop with {2 * plan.topics:,} topics", (time.perf_counter() - began) * 1e3, "ms", more_is_better=False
    )


def timed(side: Side, what: str, work: Callable[..., None], *arguments: object) -> Iterator[Value]:
    began, before_s = time.perf_counter(), side.cpu_s()
    work(*arguments)
    yield Value(what, (time.perf_counter() - began) * 1e3, "ms", more_is_better=False)
    yield Value(f"{what}: broker's CPU", (side.cpu_s() - before_s) * 1e3, "ms", more_is_better=False)
