"""Apache Kafka itself, one node, in a directory of its own, on free loopback ports."""

from __future__ import annotations

import base64
import fcntl
import os
import random
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.kafka.classpath import java_command

HOST = "127.0.0.1"
START_DEADLINE_S = 90.0
STOP_DEADLINE_S = 30.0
POLL_S = 0.05
LOWEST_PORT = 12_000
SMALL_HEAP_MIB, SHIPPED_HEAP_MIB = 320, 1024
_GIVEN_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")

# What one node alone needs: one replica of everything.
ALONE: Mapping[str, str] = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}

# Small, and quick to be ready: few threads and partitions of its own, no wait for the first rebalance.
SMALL: Mapping[str, str] = {
    **ALONE,
    "num.network.threads": "2",
    "num.io.threads": "4",
    "num.recovery.threads.per.data.dir": "1",
    "background.threads": "2",
    "log.cleaner.dedupe.buffer.size": "8388608",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}


class KafkaBrokerError(Exception):
    """Kafka did not format, start or stop; the message holds the end of its log."""


class KafkaBroker:
    """Formats, starts and stops one KRaft node: broker and controller; given `controllers`, a broker only; or
    `controller_only`.

    Without a directory it works in a temporary one and removes it at the end. A directory that is formatted
    already (by Kafka or by us) is used as it is, so a test can stop one program and start the other on the
    same files. `start` may be called again after `stop` (the ports stay the same); after `kill` that start
    takes about ten seconds, because the controller lets a broker in again only when its session has ended.
    It is small, and its JVM starts fast and is slow later on; whoever measures it wants it `as_shipped`, with Kafka's
    defaults and the options of its own script.
    """

    def __init__(
        self,
        classpath: str,
        directory: Path | None = None,
        *,
        config: Mapping[str, str] | None = None,
        features: Mapping[str, int] | None = None,
        format_arguments: Sequence[str] = (),
        advertised_port: int | None = None,
        node_id: int = 1,
        controllers: str | None = None,
        controller_only: bool = False,
        cluster_id: str | None = None,
        heap_mib: int | None = None,
        java_options: Sequence[str] = (),
        as_shipped: bool = False,
    ) -> None:
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if directory is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="kafka-")
            directory = Path(self._temporary.name)
        self._classpath = classpath
        self._directory = directory
        self._config = dict(config or {})
        self._format_arguments = list(format_arguments)
        for feature, level in (features or {}).items():
            self._format_arguments += ["--feature", f"{feature}={level}"]
        self._heap_mib = heap_mib or (SHIPPED_HEAP_MIB if as_shipped else SMALL_HEAP_MIB)
        self._java_options = java_options
        self._as_shipped = as_shipped
        self._process: subprocess.Popen[bytes] | None = None
        self.node_id = node_id
        self._controllers = controllers
        self._controller_only = controller_only
        # A first letter that StorageTool does not take for an option.
        self.cluster_id = cluster_id or "K" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
        self.host = HOST
        self.port, self.controller_port = free_ports(2)
        self.advertised_port = self.port if advertised_port is None else advertised_port

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def bootstrap(self) -> str:
        """What a client is given; behind a proxy, the proxy's address."""
        return f"{self.host}:{self.advertised_port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker does not run"
        return self._process.pid

    @property
    def data_directory(self) -> Path:
        """Kafka's log.dirs: meta.properties, the partitions, the checkpoints."""
        return self._directory / "data"

    @property
    def log_file(self) -> Path:
        """What Kafka writes to stdout and stderr: warnings and worse."""
        return self._directory / "kafka.log"

    def configure(self, config: Mapping[str, str], format_arguments: Sequence[str] = ()) -> None:
        """More settings, before start: those that depend on the ports, which are known only now."""
        self._config.update(config)
        self._format_arguments += format_arguments

    def write_properties(self) -> None:
        """As `start` does; for another program that is to read them before."""
        self._write_properties()

    def prepare(self) -> None:
        """What `start` does before the broker runs; for whoever measures how long that one takes."""
        self._write_properties()
        if not (self.data_directory / "meta.properties").exists():
            self._format()

    def start(self) -> None:
        assert self._process is None, "the broker runs already"
        try:
            self.prepare()
            with self.log_file.open("ab") as log:
                self._process = subprocess.Popen(
                    [*self._java(), *self._java_options, "kafka.Kafka", str(self._properties_file)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=self._directory,
                )
            self._wait_until_ready(time.monotonic() + START_DEADLINE_S)
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """A clean stop, as an operator's SIGTERM; a second call does nothing."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """No stop at all: SIGKILL, as when the machine dies."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """Stops the process and removes the temporary directory."""
        try:
            self._end(signal.SIGTERM)
        finally:
            if self._temporary is not None:
                self._temporary.cleanup()

    @property
    def _properties_file(self) -> Path:
        return self._directory / "server.properties"

    def _java(self) -> list[str]:
        return java_command(
            self._classpath,
            heap_mib=self._heap_mib,
            archived=not self._java_options,
            as_shipped=self._as_shipped,
        )

    @property
    def _roles(self) -> list[str]:
        if self._controller_only:
            return ["controller"]
        return ["broker", "controller"] if self._controllers is None else ["broker"]

    def _write_properties(self) -> None:
        controller = [f"CONTROLLER://{HOST}:{self.controller_port}"] if "controller" in self._roles else []
        bound, told = list(controller), list(controller)
        if "broker" in self._roles:
            bound.insert(0, f"PLAINTEXT://{HOST}:{self.port}")
            told.insert(0, f"PLAINTEXT://{HOST}:{self.advertised_port}")
        properties = {
            "process.roles": ",".join(self._roles),
            "node.id": str(self.node_id),
            "controller.quorum.bootstrap.servers": self._controllers or f"{HOST}:{self.controller_port}",
            "listeners": ",".join(bound),
            "advertised.listeners": ",".join(told),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            **({} if self._controller_only else {"inter.broker.listener.name": "PLAINTEXT"}),
            "log.dirs": str(self.data_directory),
            **(ALONE if self._as_shipped else SMALL),
            **self._config,
        }
        self._directory.mkdir(parents=True, exist_ok=True)
        self._properties_file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))

    def _format(self) -> None:
        quorum = "--standalone" if self._controllers is None else "--no-initial-controllers"
        storage_tool = ["kafka.tools.StorageTool", "format", quorum, "--cluster-id", self.cluster_id]
        done = subprocess.run(
            [*self._java(), *storage_tool, "--config", str(self._properties_file), *self._format_arguments],
            check=False,
            capture_output=True,
            text=True,
            cwd=self._directory,
            timeout=START_DEADLINE_S,
        )
        if done.returncode != 0:
            raise KafkaBrokerError(f"Kafka's StorageTool could not format:\n{done.stdout}{done.stderr}")

    def _wait_until_ready(self, deadline: float) -> None:
        """Polls the socket: a KRaft broker opens it to requests only when the controller has let it in."""
        pause = threading.Event()
        while True:
            assert self._process is not None
            if self._process.poll() is not None:
                raise KafkaBrokerError(
                    f"Kafka ended with {self._process.returncode} while it started:\n{self._log_tail()}"
                )
            if answers_api_versions(self.host, self.controller_port if self._controller_only else self.port):
                return
            if time.monotonic() > deadline:
                raise KafkaBrokerError(f"Kafka was not ready after {START_DEADLINE_S:.0f} s:\n{self._log_tail()}")
            pause.wait(POLL_S)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _log_tail(self) -> str:
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-40:])


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago; all are held until the last is known, so they differ.

    They lie below those that the system gives to who connects: one of those may be a client's before Kafka, which takes
    seconds to start, has it. No other process is given one of them as long as this one runs, for a free one may be that
    of a broker which somebody has killed and is about to start again.
    """
    sockets: list[socket.socket] = []
    lowest_given = int(_GIVEN_PORTS.read_text().split()[0])
    try:
        while len(sockets) < count:
            port = random.randrange(LOWEST_PORT, lowest_given)
            with suppress(OSError):
                fcntl.lockf(_taken_ports(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
                sockets.append(socket.create_server((HOST, port)))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


@cache
def _taken_ports() -> int:
    """A file, each byte of which is locked by the process that has the port of that number. It is never closed: that
    would unlock all."""
    path = Path(tempfile.gettempdir()) / f"barnabas-ports-{os.getuid()}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def answers_api_versions(host: str, port: int, timeout_s: float = 2.0) -> bool:
    """Whether a Kafka node answers ApiVersions v0 without an error on this port."""
    request = struct.pack(">hhih", 18, 0, 1, -1)
    try:
        with socket.create_connection((host, port), timeout=timeout_s) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            with connection.makefile("rb") as stream:
                answer = stream.read(10)
    except OSError:
        return False
    # Size, correlation id, error code.
    return len(answer) == 10 and struct.unpack(">ih", answer[4:]) == (1, 0)
