"""The brokers that are measured: each is a command and an address, whatever program it is.

`BARNABAS` and `KAFKA` are known; any other is said as `NAME=COMMAND`, in which {port} and {directory} are filled in, or
as `NAME=HOST:PORT` where it runs already.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.kafka.broker import SMALL, KafkaBroker, answers_api_versions, free_ports
from tests.kafka.classpath import find_classpath

__all__ = ["BARNABAS", "KAFKA", "Running", "running"]

BARNABAS, KAFKA = "Barnabas", "Apache Kafka"
HOST = "127.0.0.1"
ADDRESS = re.compile(r"[^\s{}]+:\d+")
START_S = 60.0
POLL_S = 0.02
COMMAND = (
    f"{shlex.quote(sys.executable)} -m barnabas.cli start --data {{directory}}/data --listen {HOST}:{{port}} "
    # As Kafka's own server.properties is told it: clients see that it was.
    f"--set=advertised.listeners=PLAINTEXT://{HOST}:{{port}}"
)


@dataclass(frozen=True, slots=True)
class Running:
    name: str
    host: str
    port: int
    pid: int | None
    """None where somebody else started it."""
    start_s: float
    log: Path | None = None
    """What it says, where we started it."""

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"


@contextmanager
def running(which: str, directory: Path, config: Mapping[str, str] | None = None) -> Iterator[Running]:
    """`config` has Kafka's keys, and goes to the two that are known; {directory} is filled in there, too."""
    name, _, command = which.partition("=")
    directory.mkdir(parents=True, exist_ok=True)
    config = {key: value.format(directory=directory) for key, value in (config or {}).items()}
    if name == KAFKA and not command:
        with _kafka(directory, config) as broker:
            yield broker
    elif ADDRESS.fullmatch(command):
        host, _, port = command.rpartition(":")
        yield Running(name, host, int(port), None, 0.0)
    else:
        assert command or name == BARNABAS, f"{which}: say NAME=COMMAND or NAME=HOST:PORT"
        settings = shlex.join(f"--set={key}={value}" for key, value in config.items())
        with _command(name, command or f"{COMMAND} {settings}", directory) as broker:
            yield broker


@contextmanager
def _kafka(directory: Path, config: Mapping[str, str]) -> Iterator[Running]:
    broker = KafkaBroker(find_classpath(), directory, config=config)
    began = time.perf_counter()
    with broker:
        yield Running(KAFKA, broker.host, broker.port, broker.pid, time.perf_counter() - began)
        # Nobody opens its files again, and it takes a minute to close those of a thousand partitions.
        broker.kill()


@contextmanager
def _command(name: str, command: str, directory: Path) -> Iterator[Running]:
    (port,) = free_ports(1)
    began = time.perf_counter()
    with (directory / "broker.log").open("wb") as log:
        process = subprocess.Popen(
            shlex.split(command.format(port=port, directory=directory)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        while not answers_api_versions(HOST, port):
            if process.poll() is not None or time.perf_counter() - began > START_S:
                said = (directory / "broker.log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{name} did not start by {command!r}; it said: {said}")
            time.sleep(POLL_S)
        yield Running(name, HOST, port, process.pid, time.perf_counter() - began, directory / "broker.log")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def small(**config: str) -> dict[str, str]:
    """Quick to be ready: one partition of each internal topic, no wait for the first rebalance."""
    return {**SMALL, **{key.replace("_", "."): value for key, value in config.items()}}
