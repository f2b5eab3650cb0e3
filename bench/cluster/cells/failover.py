"""A node dies, or goes: how long clients wait for an acknowledgement."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.cluster.acknowledged import JavasProducer, LibrdkafkasProducer
from bench.cluster.family import IMPATIENT, family
from bench.cluster.side import ClusterSide
from bench.family import Value
from bench.figures import median
from bench.plan import Plan
from bench.side import until

TOPIC = "failover"
LEADER, WITNESS = 2, 3


@family("failover", config=IMPATIENT)
def failover(side: ClusterSide, plan: Plan) -> Iterator[Value]:
    """kill -9 of the one partition's leader, which is not the controller, while clients send 200 records a second with
    acks=all: until another node leads, and to the first acknowledgement. broker.session.timeout.ms=3000 and
    broker.heartbeat.interval.ms=500 on both; of several kills the median and the most. Then the leader is stopped as an
    operator stops it: the longest silence."""
    side.create_led_by(LEADER, TOPIC, 1)
    took: dict[str, list[float]] = {}
    with LibrdkafkasProducer(side, TOPIC) as librdkafkas, JavasProducer(side, TOPIC) as javas:
        producers = (librdkafkas, javas)
        for _ in range(plan.failovers):
            killed_at = time.time()
            side.cluster.kill(LEADER)
            until(lambda: _leader(side) not in (LEADER, -1), "nobody else leads")
            took.setdefault("another node leads", []).append(time.time() - killed_at)
            for each in producers:
                _, ended_at = each.silence_since(killed_at)
                took.setdefault(f"acknowledged to {each.name}", []).append(ended_at - killed_at)
            side.start_again(LEADER, [(TOPIC, 1)])
        for what, all_s in took.items():
            yield Value(what, median(all_s) * 1e3, "ms", more_is_better=False)
            yield Value(f"{what}, most", max(all_s) * 1e3, "ms", more_is_better=False)
        stopped_at = time.time()
        side.cluster.stop(LEADER)
        for each in producers:
            began_at, ended_at = each.silence_since(stopped_at)
            what = f"stopped, {each.name} waits"
            yield Value(what, (ended_at - began_at) * 1e3, "ms", more_is_better=False)
        side.start_again(LEADER, [(TOPIC, 1)])


def _leader(side: ClusterSide) -> int:
    return side.partitions(TOPIC, at=WITNESS)[0].leader
