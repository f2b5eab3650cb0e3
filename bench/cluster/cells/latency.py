"""From a producer to its acknowledgement and to a consumer, at a rate that troubles nobody, alone and beside a load."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bench import kafkas_tools, work
from bench.cluster.family import family
from bench.cluster.side import ClusterSide
from bench.family import Value
from bench.plan import Plan

TOPIC, PARTITIONS = "latency", 3
RECORD_BYTES = 1000
HEAVY_A_SECOND, HEAVY_BYTES = 5_000, 1000


@family("latency.light")
def light(side: ClusterSide, plan: Plan) -> Iterator[Value]:
    """200 records of 1 KB a second, acks=all, to 3 partitions, each led by another node, since they were due: by
    librdkafka. Kafka's own tool sends one after the other, 100 B, to one partition, and has the average."""
    yield from latencies(side, plan)
    side.create("tool", 1)
    average_ms = kafkas_tools.end_to_end_ms(side, "tool", plan.part(500), 100)
    yield Value("average, Kafka's tool", average_ms * 1e3, "µs", more_is_better=False)


@family("latency.heavy")
def heavy(side: ClusterSide, plan: Plan) -> Iterator[Value]:
    """The same beside Kafka's producer, which sends 5,000 records of 1 KB a second to another topic."""
    with work.producing(side, HEAVY_A_SECOND, HEAVY_BYTES):
        yield from latencies(side, plan)


def latencies(side: ClusterSide, plan: Plan) -> Iterator[Value]:
    topic = f"{TOPIC}-{len(side.commands)}"
    side.create(topic, PARTITIONS)
    options = ["--records", plan.latencies, "--a-second", plan.steady_a_second]
    options += ["--record-bytes", RECORD_BYTES, "--partitions", PARTITIONS]
    for what, late_us in json.loads(side.module("bench.cluster.steady", side.bootstrap, topic, *options)).items():
        yield Value(what, late_us, "µs", more_is_better=False)
