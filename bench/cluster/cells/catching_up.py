"""Followers that are behind: one that was away, and all of them while much is sent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import mean

from bench import work
from bench.cluster.family import family
from bench.cluster.nodes import IDS
from bench.cluster.side import ClusterSide
from bench.family import Value
from bench.figures import percentile
from bench.plan import Plan
from bench.side import until

AWAY = 3
PARTITIONS = 6
RECORD_BYTES = 1000
MIB, MB = 1 << 20, 1e6
BESIDE_A_SECOND = 5_000
RATES = (5_000, 20_000)
SENT_TO = 4
LOOK_AGAIN_S = 0.01
LEAST_MS = 0.01
"""What is less than that cannot be told from nothing."""


@family("catching-up")
def catching_up(side: ClusterSide, plan: Plan) -> Iterator[Value]:
    """A node was stopped while so much was sent, in records of 1 KB to 6 partitions, and starts again: until it is in
    sync, how fast it copies from its first byte to its last, and the processor time of all nodes, its start with it.
    Then the same beside Kafka's producer, which sends 5,000 records of 1 KB a second to another topic."""
    what = f"{plan.away_mib:,} MiB"
    yield from back(side, plan, "away-alone", what)
    with work.producing(side, BESIDE_A_SECOND, RECORD_BYTES):
        yield from back(side, plan, "away-beside", f"{what}, beside a load")


def back(side: ClusterSide, plan: Plan, topic: str, what: str) -> Iterator[Value]:
    side.create(topic, PARTITIONS)
    side.cluster.stop(AWAY)
    records = plan.away_mib * MIB // RECORD_BYTES
    work.librdkafka(side, "produce", topic, records=records, record_bytes=RECORD_BYTES)
    side.check_records(topic, PARTITIONS, records)
    missed: int = sum(map(max, zip(*side.appended(topic, PARTITIONS).values(), strict=True)))
    had = sum(side.appended(topic, PARTITIONS)[AWAY])
    before_s, began = side.cpu_s(), time.perf_counter()
    side.cluster.start([AWAY])
    first = last = 0.0

    def is_copied() -> bool:
        nonlocal first, last
        there = sum(side.appended(topic, PARTITIONS)[AWAY])
        if there == had:
            first = time.perf_counter()
        last = time.perf_counter()
        return there >= missed

    until(is_copied, f"{side.name}'s node {AWAY} does not catch up")
    side.wait_in_sync(topic, PARTITIONS)
    took_s, used_s = time.perf_counter() - began, side.cpu_s() - before_s
    yield Value(f"{what}: from its start until in sync", took_s * 1e3, "ms", more_is_better=False)
    yield Value(f"{what}: copied", (missed - had) / MB / (last - (first or began)), "MB/s")
    yield Value(f"{what}: brokers' CPU", used_s / (missed - had) * MB * 1e3, "ms/MB", more_is_better=False)


@family("lag")
def lag(side: ClusterSide, plan: Plan) -> Iterator[Value]:
    """How far followers are behind their leaders, by what is in their files, while Kafka's producer sends so many
    records of 1 KB a second, acks=all, to 4 partitions: as time, in which as much is sent."""
    for rate in RATES:
        with work.producing(side, rate, RECORD_BYTES) as topic:
            behind_ms = list(_behind_ms(side, topic, 2 * plan.seconds))
        what = f"{rate:,} records a second"
        yield Value(f"{what}: mean", max(mean(behind_ms), LEAST_MS), "ms", more_is_better=False)
        yield Value(f"{what}: p99", max(percentile(behind_ms, 0.99), LEAST_MS), "ms", more_is_better=False)


def _behind_ms(side: ClusterSide, topic: str, seconds: float) -> Iterator[float]:
    """At many moments, the mean over the followers of all partitions."""
    began = time.perf_counter()
    first: int | None = None
    samples = []
    while (now := time.perf_counter()) < began + seconds:
        sizes = list(zip(*side.appended(topic, SENT_TO).values(), strict=True))
        most = sum(map(max, sizes))
        first = most if first is None else first
        samples.append(sum(len(each) * max(each) - sum(each) for each in sizes) / (len(IDS) - 1))
        time.sleep(LOOK_AGAIN_S)
    assert first is not None
    a_millisecond = (most - first) / (now - began) / 1e3
    return (each / a_millisecond for each in samples) if a_millisecond else iter(())
