"""A node beside Apache Kafka on the same machine, in one run, taking turns: `make bench-broker`.

Every row sets Barnabas beside Kafka 4.3.1, each on a fresh directory, with the same raw producer (bench/load.py). Best
of the rounds; only the ratios mean anything on a shared machine. With --smoke everything is done once and shortly, to
see that it works.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for tests/kafka, which knows how to run Kafka

from bench.sound import sound  # noqa: E402
from tests.kafka.broker import KafkaBroker, answers_api_versions, free_ports  # noqa: E402
from tests.kafka.classpath import find_classpath  # noqa: E402
from tests.kafka.client import RawClient  # noqa: E402

TOPIC, PARTITIONS = "load", 8
LEADS_S = 60.0


class Plan(NamedTuple):
    loads: tuple[tuple[int, int], ...]
    """Connections, and requests in flight of each."""
    rounds: int
    seconds: float
    warm_up_seconds: float


FULL = Plan(((1, 1), (8, 8), (1_000, 1)), rounds=3, seconds=5, warm_up_seconds=20)
SMOKE = Plan(((1, 1), (8, 8), (100, 1)), rounds=1, seconds=0.5, warm_up_seconds=0.5)


class Running(NamedTuple):
    host: str
    port: int
    pid: int
    start_s: float


@contextmanager
def barnabas(directory: Path) -> Iterator[Running]:
    (port,) = free_ports(1)
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "barnabas.cli", "start", "--data", str(directory), "--listen", f"127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL,
    )
    try:
        while not answers_api_versions("127.0.0.1", port):
            if process.poll() is not None:
                raise RuntimeError(f"barnabas ended with {process.returncode} while it started")
            time.sleep(0.005)
        yield Running("127.0.0.1", port, process.pid, time.perf_counter() - began)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@contextmanager
def kafka(directory: Path) -> Iterator[Running]:
    broker = KafkaBroker(find_classpath(), directory, as_shipped=True)
    began = time.perf_counter()
    with broker:
        yield Running(broker.host, broker.port, broker.pid, time.perf_counter() - began)


def create_topic(broker: Running) -> None:
    topic = CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)
    with RawClient(broker.host, broker.port) as client:
        answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7, CreateTopicsResponse)
        assert answer.topics[0].error_code == 0, answer
        # Kafka says so when its controller has it; its broker leads a moment later.
        partitions = [ListOffsetsPartition(partition_index=number, timestamp=-1) for number in range(PARTITIONS)]
        wanted = ListOffsetsRequest(topics=[ListOffsetsTopic(name=TOPIC, partitions=partitions)])
        deadline = time.monotonic() + LEADS_S
        while any(one.error_code for one in client.ask(wanted, 6, ListOffsetsResponse).topics[0].partitions):
            assert time.monotonic() < deadline, "nobody leads the topic's partitions"


def load(broker: Running, connections: int, in_flight: int, seconds: float) -> dict[str, float]:
    arguments = [broker.host, broker.port, TOPIC, PARTITIONS, connections, in_flight, seconds]
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "load.py"), *map(str, arguments)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def anonymous_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return float("nan")


def row(name: str, ours: float, kafkas: float, unit: str, *, more_is_better: bool) -> None:
    sound(name, ours, kafkas)
    ratio = ours / kafkas if more_is_better else kafkas / ours
    print(f"| {name} | {ours:,.0f} | {kafkas:,.0f} | {unit} | {ratio:.2f} |", flush=True)


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    plan = SMOKE if parser.parse_args().smoke else FULL
    print(f"CPython {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores\n")
    print("| what | Barnabas | Kafka | unit | better by |\n|---|---|---|---|---|")
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as root,
        barnabas(Path(root, "barnabas")) as ours,
        kafka(Path(root, "kafka")) as theirs,
    ):
        row("start to the first answer", ours.start_s * 1e3, theirs.start_s * 1e3, "ms", more_is_better=False)
        row("idle anonymous memory", anonymous_mib(ours.pid), anonymous_mib(theirs.pid), "MiB", more_is_better=False)
        for broker in (ours, theirs):
            create_topic(broker)
            load(broker, 8, 8, plan.warm_up_seconds)
        for connections, in_flight in plan.loads:
            rounds = [
                (load(ours, connections, in_flight, plan.seconds), load(theirs, connections, in_flight, plan.seconds))
                for _ in range(plan.rounds)
            ]
            name = f"produce, {connections} connections with {in_flight} in flight"
            our_best, their_best = (max(each[side]["per_second"] for each in rounds) for side in (0, 1))
            row(name, our_best, their_best, "requests/s", more_is_better=True)
            if in_flight == 1:
                for quantile in ("p50_us", "p99_us"):
                    our_least, their_least = (min(each[side][quantile] for each in rounds) for side in (0, 1))
                    row(f"{name}: {quantile[:3]}", our_least, their_least, "µs", more_is_better=False)
        row(
            "anonymous memory after that",
            anonymous_mib(ours.pid),
            anonymous_mib(theirs.pid),
            "MiB",
            more_is_better=False,
        )


if __name__ == "__main__":
    main()
