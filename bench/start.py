"""Starting and making topics, beside Apache Kafka on the same machine, in one run and in turns.

    python bench/start.py [--smoke] [RUNS]

A row is the median of the runs: how long it took, and the processor time (user and system) that the broker's process
used for it, which other work on the machine disturbs less. Ready is the first answer to an ApiVersions request. Kafka
is formatted before its clock runs; where its jars are missing its columns are. --smoke is one run with few partitions,
to see that the benchmark works.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for tests/kafka, which knows how to run Kafka

from barnabas.protocol.batch_builder import build_batch  # noqa: E402
from barnabas.protocol.messages.create_topics import (  # noqa: E402
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.produce import (  # noqa: E402
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.protocol.record import Record  # noqa: E402
from bench.sound import sound  # noqa: E402
from tests.kafka.broker import KafkaBroker, answers_api_versions, free_ports  # noqa: E402
from tests.kafka.classpath import KafkaMissingError, find_classpath  # noqa: E402
from tests.kafka.client import RawClient  # noqa: E402

PARTITIONS, SMOKE_PARTITIONS = 1000, 20
PARTITIONS_A_REQUEST = 100
TOPIC = "many"
TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    wall_ms: float
    cpu_ms: float


class Barnabas:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (self.port,) = free_ports(1)

    def start(self) -> Cost:
        command = [sys.executable, "-m", "barnabas.cli", "start", "--data", str(self.directory)]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, "--listen", f"127.0.0.1:{self.port}"], stdout=subprocess.DEVNULL, env=environment
        )
        while not answers_api_versions("127.0.0.1", self.port):
            if self.process.poll() is not None:
                raise RuntimeError(f"the broker ended with {self.process.returncode} while it started")
            time.sleep(0.002)
        return Cost((time.perf_counter() - began) * 1e3, cpu_ms(self.process.pid))

    @property
    def pid(self) -> int:
        return self.process.pid

    def end(self, how: signal.Signals) -> Cost:
        began, before = time.perf_counter(), cpu_ms(self.pid)
        self.process.send_signal(how)
        self.process.wait()
        return Cost((time.perf_counter() - began) * 1e3, -before)  # nobody knows what it used in the end


class Kafka:
    def __init__(self, directory: Path) -> None:
        self.broker = KafkaBroker(find_classpath(), directory, as_shipped=True)
        self.broker.write_properties()
        self.broker._format()
        self.port = self.broker.port

    def start(self) -> Cost:
        began = time.perf_counter()
        self.broker.start()
        return Cost((time.perf_counter() - began) * 1e3, cpu_ms(self.pid))

    @property
    def pid(self) -> int:
        return self.broker.pid

    def end(self, how: signal.Signals) -> Cost:
        began = time.perf_counter()
        (self.broker.stop if how == signal.SIGTERM else self.broker.kill)()
        return Cost((time.perf_counter() - began) * 1e3, 0)


def cpu_ms(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) * 1e3 / TICKS


def anonymous_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("RssAnon"))


def make_topics(client: RawClient, names: list[str], partitions: int = 1) -> None:
    topics = [CreatableTopic(name=name, num_partitions=partitions, replication_factor=1) for name in names]
    made = client.ask(CreateTopicsRequest(topics=topics, timeout_ms=60_000), 7, CreateTopicsResponse)
    assert not any(topic.error_code for topic in made.topics), made


def fill(client: RawClient, partitions: int) -> None:
    for first in range(0, partitions, PARTITIONS_A_REQUEST):
        records = build_batch([Record(value=bytes(1000), timestamp=1)])
        numbers = range(first, min(first + PARTITIONS_A_REQUEST, partitions))
        data = [PartitionProduceData(index=number, records=records) for number in numbers]
        while data:
            topic = TopicProduceData(name=TOPIC, partition_data=data)
            answer = client.ask(ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[topic]), 12, ProduceResponse)
            refused = {one.index for one in answer.responses[0].partition_responses if one.error_code}
            # Kafka answers CreateTopics before its partitions can be written to.
            data = [one for one in data if one.index in refused]


def make_and_fill(client: RawClient, partitions: int) -> None:
    make_topics(client, [TOPIC], partitions)
    fill(client, partitions)


def timed(broker: Barnabas | Kafka, work: Callable[[RawClient, int], None], count: int) -> Cost:
    with RawClient("127.0.0.1", broker.port) as client:
        began, before = time.perf_counter(), cpu_ms(broker.pid)
        work(client, count)
        return Cost((time.perf_counter() - began) * 1e3, cpu_ms(broker.pid) - before)


def at_once(client: RawClient, count: int) -> None:
    make_topics(client, [f"once{number}" for number in range(count)])


def one_by_one(client: RawClient, count: int) -> None:
    for number in range(count):
        make_topics(client, [f"each{number}"])


Results = dict[str, list[Cost]]


def round_of(kind: type[Barnabas | Kafka], parent: Path, results: Results, count: int) -> None:
    """Two brokers: one to which topics are added, and one that is filled, stopped and killed."""

    def note(what: str, cost: Cost) -> None:
        results.setdefault(what, []).append(cost)

    broker = kind(parent / "topics")
    note("ready on an empty directory", broker.start())
    results.setdefault("idle anonymous memory, MiB", []).append(Cost(anonymous_mib(broker.pid), 0))
    note(f"{count} topics made by one request", timed(broker, at_once, count))
    note(f"{count} topics made one by one", timed(broker, one_by_one, count))
    note(f"stopped with {2 * count} partitions", broker.end(signal.SIGTERM))
    broker = kind(parent / "many")
    broker.start()
    timed(broker, make_and_fill, count)
    broker.end(signal.SIGTERM)
    note(f"ready with {count} partitions after a clean stop", broker.start())
    broker.end(signal.SIGKILL)
    note("the same after kill -9, nothing appended", broker.start())
    timed(broker, fill, count)
    broker.end(signal.SIGKILL)
    note("the same after kill -9, all appended to", broker.start())
    broker.end(signal.SIGTERM)


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("runs", nargs="?", type=int, default=3)
    given = parser.parse_args()
    runs, count = (1, SMOKE_PARTITIONS) if given.smoke else (given.runs, PARTITIONS)
    ours: Results = {}
    theirs: Results = {}
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as name:
        first = Barnabas(Path(name, "first"))
        first.start()  # Python compiles what it imports
        first.end(signal.SIGTERM)
        for number in range(runs):
            round_of(Barnabas, Path(name, f"barnabas{number}"), ours, count)
            with suppress(KafkaMissingError):
                round_of(Kafka, Path(name, f"kafka{number}"), theirs, count)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {runs} runs\n")
    print("| what | Barnabas, ms | its CPU | Kafka, ms | its CPU |\n|---|---|---|---|---|")
    for what, costs in ours.items():
        cells = []
        sound(what, *(one.wall_ms for one in costs))
        for some in (costs, theirs.get(what, [])):
            cells.append(f"{statistics.median(one.wall_ms for one in some):,.0f}" if some else "")
            used = statistics.median(one.cpu_ms for one in some) if some else 0
            cells.append(f"{used:,.0f}" if used > 0 else "")
        print(f"| {what} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
