"""A side of the benchmark: a broker on a fresh directory, and what cells do with it and ask about it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import processes
from bench.load import errors_in
from compat.brokers import Broker
from compat.wire.connection import Connection

__all__ = ["PATIENCE_S", "Side", "end_offsets", "run_program", "until"]

PATIENCE_S = 120.0
LONGEST_S = 1800.0
POLL_S = 0.01
GROUPS = 200
"""Enough that each of the coordinators has one."""
MADE_AT_ONCE = 5_000
"""Partitions: one request makes fewer than 10,000."""
A_TIME = 500
"""Partitions that are asked about in one request."""


class Side:
    def __init__(self, broker: Broker, started_s: float, *, as_shipped: bool = True) -> None:
        self.broker = broker
        self.started_s = started_s
        """What its first start took, to the first answer."""
        self.as_shipped = as_shipped
        """Whether Kafka's tools, too, run as their scripts start them."""
        self.commands: list[str] = []
        """What ran against it, as somebody would type it."""

    @property
    def name(self) -> str:
        return self.broker.name

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap

    def cpu_s(self) -> float:
        return processes.cpu_s(self.broker.pid)

    def anonymous_mib(self) -> float:
        return processes.anonymous_mib(self.broker.pid)

    @property
    def data(self) -> Path:
        return self.broker.directory / "data"

    def disk_bytes(self) -> int:
        """What its files have of the disk, and not how long they say they are: both brokers leave holes in indexes."""
        return sum(each.stat().st_blocks for each in self.data.rglob("*") if each.is_file()) * 512

    def connection(self) -> Connection:
        return Connection(self.broker.host, self.broker.port, client_id="bench", patience_s=PATIENCE_S)

    def create(self, topic: str, partitions: int = 1, **config: str) -> None:
        """Returns when all its partitions are led."""
        with self.connection() as connection:
            self.ask_for_topics(connection, {topic: min(partitions, MADE_AT_ONCE)}, **config)
            for count in range(2 * MADE_AT_ONCE, partitions + MADE_AT_ONCE, MADE_AT_ONCE):
                wanted = [{"Name": topic, "Count": min(count, partitions), "Assignments": None}]
                answer = connection.ask("CreatePartitions", 3, Topics=wanted, TimeoutMs=int(PATIENCE_S * 1e3))
                if errors_in(answer):
                    raise RuntimeError(f"{self.name} made no partitions: {answer}")
        self.wait_until_led(topic, partitions)

    def ask_for_topics(self, connection: Connection, topics: dict[str, int], **config: str) -> None:
        configs = [{"Name": key.replace("_", "."), "Value": value} for key, value in config.items()]
        wanted = [
            {"Name": name, "NumPartitions": partitions, "ReplicationFactor": 1, "Configs": configs}
            for name, partitions in topics.items()
        ]
        self.make(connection, wanted)

    def make(self, connection: Connection, wanted: Sequence[dict[str, Any]]) -> None:
        """Topics, as CreateTopics has them."""
        answer = connection.ask("CreateTopics", 7, Topics=wanted, TimeoutMs=int(PATIENCE_S * 1e3))
        refused = [each for each in answer["Topics"] if each["ErrorCode"]]
        if refused:
            raise RuntimeError(f"{self.name} made no topic: {refused[0]}")

    def wait_until_led(self, topic: str, partitions: int) -> None:
        """Kafka answers CreateTopics when its controller has the topic; its broker leads a moment later."""
        until(lambda: None not in self.end_offsets(topic, partitions), f"{self.name} does not lead all of {topic}")

    def end_offsets(self, topic: str, partitions: int) -> list[int | None]:
        """None for a partition that nobody leads."""
        with self.connection() as connection:
            offsets = end_offsets(connection, topic, range(partitions))
        return [offsets[number] for number in range(partitions)]

    def records(self, topic: str, partitions: int) -> int:
        return sum(offset or 0 for offset in self.end_offsets(topic, partitions))

    def wait_for_records(self, topic: str, partitions: int, count: int = 1) -> None:
        until(lambda: self.records(topic, partitions) >= count, f"{self.name} does not have {count} records in {topic}")

    def check_records(self, topic: str, partitions: int, count: int) -> None:
        """RuntimeError if it has not what was sent: then something else was measured."""
        self.wait_for_records(topic, partitions, count)
        if (there := self.records(topic, partitions)) != count:
            raise RuntimeError(f"{self.name} has {there} records in {topic}, and {count} were sent")

    def wait_for_coordinators(self) -> None:
        """The topic of offsets is made when it is first wanted, and for a while its coordinators load."""
        groups = [f"group-{number}" for number in range(GROUPS)]

        def answer() -> bool:
            with self.connection() as connection:
                found = connection.ask("FindCoordinator", 4, KeyType=0, CoordinatorKeys=groups)
                told = connection.ask("OffsetFetch", 8, Groups=[{"GroupId": each, "Topics": None} for each in groups])
            return not errors_in(found) and not errors_in(told)

        until(answer, f"{self.name} has no coordinators")

    @contextmanager
    def connections(self, count: int) -> Iterator[Sequence[Connection]]:
        """So many, each of which has asked something."""
        opened: list[Connection] = []
        try:
            for _ in range(count):
                opened.append(self.connection())
                opened[-1].ask("ApiVersions", 0)
            yield opened
        finally:
            for each in opened:
                each.close()

    def run(self, command: Sequence[str], said: str) -> str:
        """What a program printed. `said` is the command as somebody would type it."""
        self.note(said)
        try:
            return run_program(command)
        except RuntimeError as error:
            raise RuntimeError(f"on {self.name}: {error}") from None

    def note(self, said: str) -> None:
        if said not in self.commands:
            self.commands.append(said)

    def module(self, name: str, *arguments: Any) -> str:
        """A program of bench/, in a process of its own."""
        words = [str(each) for each in arguments]
        return self.run([sys.executable, "-m", name, *words], self.spoken(f"python -m {name}", words))

    def spoken(self, program: str, words: Sequence[str]) -> str:
        """Without this run's address."""
        return " ".join([program, *words]).replace(self.bootstrap, "HOST:PORT")


def end_offsets(connection: Connection, topic: str, numbers: Sequence[int]) -> dict[int, int | None]:
    """None for a partition that this broker does not lead."""
    found: dict[int, int | None] = {}
    for first in range(0, len(numbers), A_TIME):
        wanted = [{"PartitionIndex": number, "Timestamp": -1} for number in numbers[first : first + A_TIME]]
        answer = connection.ask("ListOffsets", 6, ReplicaId=-1, Topics=[{"Name": topic, "Partitions": wanted}])
        for each in answer["Topics"][0]["Partitions"]:
            found[each["PartitionIndex"]] = None if each["ErrorCode"] else each["Offset"]
    return found


def until(condition: Callable[[], bool], otherwise: str) -> None:
    """It is asked again and again; at most half of the time goes by with asking."""
    deadline = time.monotonic() + PATIENCE_S
    asked_at = time.monotonic()
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{otherwise} after {PATIENCE_S:.0f} s")
        time.sleep(max(POLL_S, time.monotonic() - asked_at))
        asked_at = time.monotonic()


def run_program(command: Sequence[str]) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LONGEST_S)
    if done.returncode:
        said = f"{done.stdout[-1500:]}{done.stderr[-1500:]}"
        raise RuntimeError(f"{' '.join(command)[-300:]} ended with {done.returncode}:\n{said}")
    return done.stdout
