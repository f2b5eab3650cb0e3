"""land and derive of a topic on Barnabas and on Apache Kafka, in turns: `make bench-pipeline`, after `make spark`.

Each round has a fresh broker with as many events in a topic of four partitions, then the whole command from its start
to its end, with the start of Spark in it. `--grow` runs land on Barnabas with 1, 3 and 10 million events, and says what
a line through these would make of a hundred million. --smoke is one short round, to see that it works.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import linear_regression
from typing import NamedTuple

from bench.family import started
from bench.figures import median, spread
from bench.machine import load_average, machine, versions
from bench.side import Side
from bench.sound import sound
from compat.brokers import BARNABAS, KAFKA
from compat.spark.stream import find_jars

CORES = 2
PARTITIONS = 4
TOPIC, FEED = "views", "top-pages"
JOBS = ("land", "derive")
SIDES = (KAFKA, BARNABAS)
PAGES, USERS = 1_000, 50_000
A_SECOND, SMOKES = 1_000, 20
"""Events of a second, by their own time; some windows have to be over by the end."""
SETTINGS = """
[kafka]
"bootstrap.servers" = "{bootstrap}"
[spark]
"spark.master" = "local[{cores}]"
"spark.jars" = "{jars}"
"spark.driver.memory" = "3g"
"spark.sql.shuffle.partitions" = {cores}
[land]
topics = ["{topic}"]
records-per-batch = 500000
[topics.{topic}]
schema = "views.ddl"
event-time = "at"
[derive.pages]
source = "{topic}"
topic = "{feed}"
kind = "count"
by = "page"
top = 20
"""
SCHEMA = "user STRING NOT NULL, page STRING NOT NULL, took INT, status INT, at TIMESTAMP NOT NULL"


class Cost(NamedTuple):
    wall_s: float
    broker_s: float
    """Processor time."""


def events(count: int, a_second: int) -> Iterator[tuple[bytes, bytes]]:
    start = datetime.now(UTC) - timedelta(hours=12)
    for first in range(0, count, a_second):
        at = (start + timedelta(seconds=first // a_second)).strftime("%Y-%m-%dT%H:%M:%S")
        for number in range(first, min(first + a_second, count)):
            user = number * 7919 % USERS
            page = (number * 104_729 % PAGES) ** 2 // PAGES  # some far more often than others
            moment = f"{at}.{number % 1000:03}Z"
            fields = f'"user":"u{user}","page":"/p/{page}","took":{number % 900},"status":200,"at":"{moment}"'
            yield b"u%d" % user, f"{{{fields}}}".encode()


def fill(side: Side, count: int, a_second: int = A_SECOND) -> None:
    from confluent_kafka import Producer

    side.create(TOPIC, PARTITIONS)
    producer = Producer({"bootstrap.servers": side.bootstrap, "linger.ms": 50, "compression.type": "lz4"})
    for key, value in events(count, a_second):
        while True:
            try:
                producer.produce(TOPIC, value, key)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    if producer.flush(120):
        raise RuntimeError(f"{side.name} has not taken all events")
    side.check_records(TOPIC, PARTITIONS, count)


def run(side: Side, job: str, directory: Path, count: int) -> Cost:
    (directory / "views.ddl").write_text(SCHEMA)
    settings = directory / "pipeline.toml"
    settings.write_text(
        SETTINGS.format(bootstrap=side.bootstrap, cores=CORES, jars=find_jars(), topic=TOPIC, feed=FEED)
    )
    command = [sys.executable, "-m", "barnabas.cli", "pipeline", job, "--catch-up", "--json", "--config", str(settings)]
    before, began = side.cpu_s(), time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    cost = Cost(time.perf_counter() - began, side.cpu_s() - before)
    if done.returncode:
        raise RuntimeError(f"{job} on {side.name} failed: {done.stderr[-2000:]}")
    facts = [json.loads(line) for line in done.stdout.splitlines()]
    if job == "land" and facts[-1]["records"] != count:
        raise RuntimeError(f"land on {side.name} has not landed {count} records: {facts}")
    if job == "derive" and not facts[-1]["results"]:
        raise RuntimeError(f"derive on {side.name} has sent no result")
    sound(f"{job} on {side.name}", *cost)
    return cost


def compare(count: int, rounds: int, a_second: int = A_SECOND) -> None:
    costs: dict[tuple[str, str], list[Cost]] = {(job, name): [] for job in JOBS for name in SIDES}
    for number in range(rounds):
        for name in SIDES if number % 2 else reversed(SIDES):
            with started(name) as side, tempfile.TemporaryDirectory() as scratch:
                fill(side, count, a_second)
                for job in JOBS:
                    costs[job, name].append(run(side, job, Path(scratch), count))
    print(
        "| job | events | on Kafka, records/s | on Barnabas | ratio | spread | spread | Kafka's CPU s/M | Barnabas's |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for job in JOBS:
        rates = {name: count / median(cost.wall_s for cost in costs[job, name]) for name in SIDES}
        cells = [job, f"{count:,}", *(f"{rates[name]:,.0f}" for name in SIDES), f"{rates[BARNABAS] / rates[KAFKA]:.2f}"]
        cells += [f"{spread(cost.wall_s for cost in costs[job, name]):.0%}" for name in SIDES]
        cells += [f"{median(cost.broker_s for cost in costs[job, name]) / count * 1e6:.2f}" for name in SIDES]
        print(f"| {' | '.join(cells)} |", flush=True)


def grow(counts: tuple[int, ...]) -> None:
    print("\n| events | land, s | records/s |\n|---|---|---|")
    walls = []
    for count in counts:
        with started(BARNABAS) as side, tempfile.TemporaryDirectory() as scratch:
            fill(side, count)
            walls.append(run(side, "land", Path(scratch), count).wall_s)
        print(f"| {count:,} | {walls[-1]:.1f} | {count / walls[-1]:,.0f} |", flush=True)
    slope, start = linear_regression(counts, walls)
    furthest = max(abs(start + slope * count - wall) / wall for count, wall in zip(counts, walls, strict=True))
    whole = start + slope * 100_000_000
    print(
        f"\n{start:.1f} s, and {slope * 1e6:.2f} s for each million; no point is further than {furthest:.0%} from that "
        f"line, by which 100 million take {whole / 60:.0f} minutes."
    )


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--grow", action="store_true")
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    wanted = parser.parse_args()
    print(f"{machine()}; {versions()}; Spark local[{CORES}]; load {load_average():.1f}\n")
    if wanted.smoke:
        compare(20_000, 1, SMOKES)
    elif wanted.grow:
        grow((1_000_000, 3_000_000, 10_000_000))
    else:
        compare(wanted.events, wanted.rounds)


if __name__ == "__main__":
    main()
