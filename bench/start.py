"""From the start of the process to a broker that is ready: on an empty directory, and with a thousand partitions.

    python bench/start.py [--smoke] [RUNS]

Ready is when it says so, which is when it answers; the median and the best of the runs, in milliseconds. --smoke is one
run with few partitions, to see that the benchmark works.
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
from pathlib import Path

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # it is run as a script

from bench.sound import sound
from tests.kafka.client import RawClient

PARTITIONS, SMOKE_PARTITIONS = 1000, 20
PARTITIONS_A_REQUEST = 100
TOPIC = "many"


class Run:
    """One life of a broker."""

    def __init__(self, directory: Path) -> None:
        command = [sys.executable, "-m", "barnabas.cli", "start", "--listen", "127.0.0.1:0", "--data", str(directory)]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        began = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "is ready" in line:
                self.ready_ms = (time.perf_counter() - began) * 1000
            if "listeners" in line:
                self.port = int(line.rpartition(":")[2])
                return
        raise RuntimeError("the broker did not become ready")

    def end(self, how: signal.Signals) -> float:
        """How long it took, in milliseconds."""
        began = time.perf_counter()
        self.process.send_signal(how)
        self.process.communicate()
        return (time.perf_counter() - began) * 1000


def fill(port: int, partitions: int) -> None:
    with RawClient("127.0.0.1", port) as client:
        topic = CreatableTopic(name=TOPIC, num_partitions=partitions, replication_factor=1)
        created = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 7, CreateTopicsResponse)
        assert created.topics[0].error_code == 0, created
        for first in range(0, partitions, PARTITIONS_A_REQUEST):
            records = build_batch([Record(value=bytes(1000), timestamp=1)])
            numbers = range(first, min(first + PARTITIONS_A_REQUEST, partitions))
            data = [PartitionProduceData(index=number, records=records) for number in numbers]
            request = ProduceRequest(
                acks=-1, timeout_ms=60_000, topic_data=[TopicProduceData(name=TOPIC, partition_data=data)]
            )
            answer = client.ask(request, 12, ProduceResponse)
            assert not any(one.error_code for one in answer.responses[0].partition_responses)


def told(what: str, times: list[float]) -> None:
    sound(what, *times)
    print(f"{what:50} median {statistics.median(times):6.0f} ms   best {min(times):6.0f} ms")


def repeated(runs: int, directory: Callable[[int], Path], how: signal.Signals) -> tuple[list[float], list[float]]:
    ready, ended = [], []
    for number in range(runs):
        run = Run(directory(number))
        ready.append(run.ready_ms)
        ended.append(run.end(how))
    return ready, ended


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("runs", nargs="?", type=int, default=7)
    given = parser.parse_args()
    runs, partitions = (1, SMOKE_PARTITIONS) if given.smoke else (given.runs, PARTITIONS)
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as name:
        parent = Path(name)
        Run(parent / "first").end(signal.SIGTERM)  # Python compiles what it imports
        ready, ended = repeated(runs, lambda number: parent / str(number), signal.SIGTERM)
        told("ready on an empty directory", ready)
        told("stopped", ended)
        many = parent / "many"
        run = Run(many)
        fill(run.port, partitions)
        run.end(signal.SIGTERM)
        ready, ended = repeated(runs, lambda _: many, signal.SIGTERM)
        told(f"ready with {partitions} partitions after a clean stop", ready)
        told("stopped", ended)
        Run(many).end(signal.SIGKILL)
        ready, _ = repeated(runs, lambda _: many, signal.SIGKILL)
        told(f"ready with {partitions} partitions after kill -9", ready)


if __name__ == "__main__":
    main()
