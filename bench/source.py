"""`spark.read.format("barnabas")` beside Spark's own Kafka source, on the same topics of one broker, in one session and
in turns: `make bench-source`, after `make spark`.

A query counts a topic's records and the bytes of their values, so that all is read and little else is done. A cell is
the median of the rounds, after one that does not count. --smoke is one short round, to see that it works.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser
from typing import Any, NamedTuple

from bench.family import started
from bench.figures import median, spread
from bench.machine import load_average, machine, versions
from bench.processes import cpu_s
from bench.side import Side
from bench.sound import sound
from compat.brokers import BARNABAS
from compat.spark.stream import find_jars

OURS, THEIRS = "barnabas", "kafka"
CORES = 2


class Plan(NamedTuple):
    sizes: tuple[tuple[int, int], ...]
    """Bytes of a record, and how many records."""
    partitions: tuple[int, ...]
    rounds: int


FULL = Plan(((100, 3_000_000), (1000, 1_000_000)), partitions=(1, 4), rounds=5)
SMOKE = Plan(((100, 5000),), partitions=(4,), rounds=1)


def session() -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    from barnabas.pipeline.source import BarnabasSource

    spark = (
        SparkSession.builder.master(f"local[{CORES}]")
        .config("spark.jars", find_jars())
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", str(CORES))
        .config("spark.log.level", "ERROR")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.dataSource.register(BarnabasSource)
    return spark


class Cost(NamedTuple):
    """Of a query."""

    wall_s: float
    cpu_s: float
    """Of Spark with its workers, and not of the broker."""


def read(spark: Any, side: Side, source: str, topic: str, count: int, record_bytes: int) -> Cost:
    options = {"kafka.bootstrap.servers": side.bootstrap, "subscribe": topic}
    rows = spark.read.format(source).options(**options).load()
    before_s = cpu_s(os.getpid()) - side.cpu_s()
    began = time.perf_counter()
    (found,) = rows.selectExpr("count(1)", "sum(length(value))").collect()
    wall_s = time.perf_counter() - began
    if tuple(found) != (count, count * record_bytes):
        raise RuntimeError(f"{source} has read {tuple(found)} of {count} records of {record_bytes} bytes")
    return Cost(wall_s, cpu_s(os.getpid()) - side.cpu_s() - before_s)


def compare(spark: Any, side: Side, record_bytes: int, count: int, partitions: int, rounds: int) -> None:
    topic = f"records-of-{record_bytes}-in-{partitions}"
    side.create(topic, partitions)
    words = ["produce", side.bootstrap, topic, "--records", count, "--record-bytes", record_bytes]
    side.module("bench.librdkafka", *words)
    side.check_records(topic, partitions, count)
    costs: dict[str, list[Cost]] = {OURS: [], THEIRS: []}
    for number in range(rounds + 1):
        for source, own in costs.items():
            cost = read(spark, side, source, topic, count, record_bytes)
            if number:
                own.append(cost)
    sound(topic, *(figure for own in costs.values() for cost in own for figure in cost))
    rates = {source: count / median(cost.wall_s for cost in own) for source, own in costs.items()}
    cpu = {source: median(cost.cpu_s for cost in own) / count * 1e6 for source, own in costs.items()}
    cells = [str(record_bytes), str(partitions), f"{rates[THEIRS]:,.0f}", f"{rates[OURS]:,.0f}"]
    cells += [f"{rates[OURS] / rates[THEIRS]:.2f}"]
    cells += [f"{spread(cost.wall_s for cost in costs[each]):.0%}" for each in (THEIRS, OURS)]
    cells += [f"{cpu[each]:.2f}" for each in (THEIRS, OURS)]
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    plan = SMOKE if parser.parse_args().smoke else FULL
    print(f"{machine()}; {versions()}; Spark local[{CORES}]; load {load_average():.1f}; records a second\n")
    print("| bytes | partitions | Spark's own | barnabas | of it | spread | spread | CPU s/M, Spark's own | barnabas |")
    print("|---|---|---|---|---|---|---|---|---|")
    with started(BARNABAS) as side:
        spark = session()
        try:
            for record_bytes, count in plan.sizes:
                for partitions in plan.partitions:
                    compare(spark, side, record_bytes, count, partitions, plan.rounds)
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
