"""The brokers that are measured and compared: each is a command and an address, whatever program it is.

`BARNABAS` and `KAFKA` are known; any other is said as `NAME=COMMAND`, in which {port} and {directory} are filled in, or
as `NAME=HOST:PORT` where it runs already.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.kafka.broker import SMALL, KafkaBroker, answers_api_versions, free_ports
from tests.kafka.classpath import find_classpath

__all__ = ["BARNABAS", "KAFKA", "ApacheKafka", "Broker", "CommandBroker", "broker_for", "running", "small"]

BARNABAS, KAFKA = "Barnabas", "Apache Kafka"
HOST = "127.0.0.1"
ADDRESS = re.compile(r"[^\s{}]+:\d+")
START_S = 60.0
STOP_S = 60.0
POLL_S = 0.005
PYTHON = os.environ.get("BARNABAS_PYTHON", sys.executable)
"""That of an environment in which Barnabas is installed as users get it (`make wheel`), or the one that runs this."""
COMMAND = (
    f"{shlex.quote(PYTHON)} -m barnabas.cli start --data {{directory}}/data --listen {HOST}:{{port}} "
    # As Kafka's own server.properties is told it: clients see that it was.
    f"--set=advertised.listeners=PLAINTEXT://{HOST}:{{port}}"
)


class Broker(ABC):
    """It may be started again after `stop` and after `kill`: on the same port, with what it left in its directory."""

    log: Path | None = None
    """What it says, where we started it by its command."""

    def __init__(self, name: str, host: str, port: int, directory: Path) -> None:
        self.name, self.host, self.port, self.directory = name, host, port, directory

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    @abstractmethod
    def pid(self) -> int:
        """While it runs."""

    @abstractmethod
    def start(self) -> float:
        """Seconds from the start of its process to its first answer to ApiVersions."""

    @abstractmethod
    def stop(self) -> None:
        """As an operator stops it: SIGTERM. A second call does nothing."""

    @abstractmethod
    def kill(self) -> None:
        """As when the machine dies: SIGKILL."""

    def end(self) -> None:
        """Of a broker whose files nobody opens again."""
        self.stop()


class CommandBroker(Broker):
    """Whatever a command line starts, which is Barnabas where none is given."""

    def __init__(self, name: str, directory: Path, command: str = COMMAND, port: int | None = None) -> None:
        port = port or free_ports(1)[0]
        super().__init__(name, HOST, port, directory)
        self.log = self._log_file = directory / "broker.log"
        self._command = command.format(port=port, directory=shlex.quote(str(directory)))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker does not run"
        return self._process.pid

    def start(self) -> float:
        assert self._process is None, "the broker runs already"
        self.directory.mkdir(parents=True, exist_ok=True)
        # As users have it: Python keeps what it compiled.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        began = time.perf_counter()
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                shlex.split(self._command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
            )
        try:
            while not answers_api_versions(self.host, self.port):
                if self._process.poll() is not None or time.perf_counter() - began > START_S:
                    said = self._log_file.read_text(errors="replace")[-2000:]
                    raise RuntimeError(f"{self.name} did not start by {self._command!r}; it said: {said}")
                time.sleep(POLL_S)
        except BaseException:
            self.kill()
            raise
        return time.perf_counter() - began

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise RuntimeError(f"{self.name} had not stopped {STOP_S:.0f} s after SIGTERM, and was killed") from None


class ApacheKafka(Broker):
    def __init__(self, directory: Path, broker: KafkaBroker) -> None:
        self._broker = broker
        super().__init__(KAFKA, broker.host, broker.port, directory)

    @property
    def pid(self) -> int:
        return self._broker.pid

    def start(self) -> float:
        self._broker.prepare()  # Barnabas formats while it starts: that the JVM for it takes seconds is nobody's start
        began = time.perf_counter()
        self._broker.start()
        return time.perf_counter() - began

    def stop(self) -> None:
        self._broker.stop()

    def kill(self) -> None:
        self._broker.kill()

    def end(self) -> None:
        # It takes a minute to close the files of a thousand partitions.
        self.kill()


class Elsewhere(Broker):
    """It runs already, and goes on."""

    def __init__(self, name: str, directory: Path, address: str) -> None:
        host, _, port = address.rpartition(":")
        super().__init__(name, host, int(port), directory)

    @property
    def pid(self) -> int:
        raise RuntimeError(f"{self.name} runs elsewhere: say NAME=COMMAND, so that its process is known")

    def start(self) -> float:
        return 0.0

    def stop(self) -> None:
        pass

    def kill(self) -> None:
        raise RuntimeError(f"{self.name} runs elsewhere: say NAME=COMMAND, so that it can be killed")


def broker_for(
    which: str, directory: Path, config: Mapping[str, str] | None = None, *, as_shipped: bool = False
) -> Broker:
    """Not started yet. `config` has Kafka's keys, and goes to the two that are known; {directory} is filled in there,
    too. `as_shipped` for whoever measures Kafka: its defaults, with the options of its own script for the JVM."""
    name, _, command = which.partition("=")
    config = {key: value.format(directory=directory) for key, value in (config or {}).items()}
    if name == KAFKA and not command:
        kafka = KafkaBroker(find_classpath(), directory, config=config, as_shipped=as_shipped)
        return ApacheKafka(directory, kafka)
    if ADDRESS.fullmatch(command):
        return Elsewhere(name, directory, command)
    if command:
        return CommandBroker(name, directory, command)
    if name != BARNABAS:
        raise ValueError(f"nobody knows a broker {which!r}: say NAME=COMMAND or NAME=HOST:PORT")
    settings = shlex.join(f"--set={key}={value}" for key, value in config.items())
    return CommandBroker(name, directory, f"{COMMAND} {settings}")


@contextmanager
def running(
    which: str, directory: Path, config: Mapping[str, str] | None = None, *, as_shipped: bool = False
) -> Iterator[Broker]:
    broker = broker_for(which, directory, config, as_shipped=as_shipped)
    try:
        broker.start()
        yield broker
    finally:
        broker.end()


def small(**config: str) -> dict[str, str]:
    """Quick to be ready: one partition of each internal topic, no wait for the first rebalance."""
    return {**SMALL, **{key.replace("_", "."): value for key, value in config.items()}}
