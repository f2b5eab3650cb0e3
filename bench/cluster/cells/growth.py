"""What many partitions cost three nodes that have a replica each."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.cluster.family import IMPATIENT, family
from bench.cluster.side import ClusterSide
from bench.family import Value
from bench.filling import write_to
from bench.plan import Plan
from bench.side import until

LEADER, WITNESS = 2, 3
SETTLE_S = 2.0


@family("growth.partitions")
def partitions(side: ClusterSide, plan: Plan) -> Iterator[Value]:
    """So many partitions on each node, which leads a third of them, of one topic more for each step: made, until each
    node knows them led and in sync; then the nodes are idle."""
    there = 0
    for scale in plan.replicated:
        began, before_s = time.perf_counter(), side.cpu_s()
        side.create(f"of-{scale}", scale - there)
        took_s, used_s = time.perf_counter() - began, side.cpu_s() - before_s
        made = scale - there
        there = scale
        yield Value("A partition made", took_s / made * 1e3, "ms", more_is_better=False, scale=scale)
        yield Value("A partition made: brokers' CPU", used_s / made * 1e3, "ms", more_is_better=False, scale=scale)
        time.sleep(min(SETTLE_S, plan.idle_s))
        before_s = side.cpu_s()
        time.sleep(plan.idle_s)
        used_s = side.cpu_s() - before_s
        what = "Idle, with so many partitions on each node"
        yield Value(what, used_s / plan.idle_s * 1e3, "ms of CPU a second", more_is_better=False, scale=scale)
        what = "Resident, with so many partitions on each node"
        yield Value(what, side.resident_mib(), "MiB", more_is_better=False, scale=scale)


@family("growth.failover", config=IMPATIENT)
def failover(side: ClusterSide, plan: Plan) -> Iterator[Value]:
    """kill -9 of a node that leads so many partitions: until all of them are led by others, and until a record to each
    is acknowledged. Timeouts as in the family failover. Then the node's start, until it is in sync with all of them."""
    there = 0
    topics: list[tuple[str, int]] = []
    for scale in plan.replicated:
        topics.append((f"led-{scale}", scale - there))
        side.create_led_by(LEADER, *topics[-1])
        there = scale
        began = time.perf_counter()
        side.cluster.kill(LEADER)
        for topic, count in topics:
            until(lambda topic=topic: not _still_led(side, topic), "nobody else leads")  # type: ignore[misc]
            side.wait_until_led(topic, count)
        yield _ms("Until others lead so many", began, scale)
        for topic, _ in topics:
            for leader, numbers in side.led(topic).items():
                with side.connection(leader) as connection:
                    write_to(connection, side, topic, numbers)
        yield _ms("Until a record to each is acknowledged", began, scale)
        began = time.perf_counter()
        side.cluster.start([LEADER])
        for topic, count in topics:
            side.wait_in_sync(topic, count)
        yield _ms("Until the node is back and in sync", began, scale)
        for topic, count in topics:
            side.elect_preferred(topic, count)
            side.wait_until_led(topic, count)


def _still_led(side: ClusterSide, topic: str) -> bool:
    return any(each.leader in (LEADER, -1) for each in side.partitions(topic, at=WITNESS).values())


def _ms(what: str, began: float, scale: int) -> Value:
    return Value(what, (time.perf_counter() - began) * 1e3, "ms", more_is_better=False, scale=scale)
