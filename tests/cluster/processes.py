"""A cluster of nodes in processes of their own, which tests kill, freeze, cut off from each other and start again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.clients.waiting import wait_until
from tests.kafka.broker import HOST, free_ports
from tests.kafka.client import RawClient

REPOSITORY = Path(__file__).resolve().parents[2]
CONTROLLER = 1
START_S = 40
STOP_S = 30

QUICK: Mapping[str, str] = {
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "3000",
    "replica.socket.timeout.ms": "2000",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "offsets.topic.num.partitions": "3",
    "num.recovery.threads.per.data.dir": "1",
}


class ClusterNodeProcess:
    def __init__(self, node_id: int, directory: Path, controller_port: int, config: Mapping[str, str]) -> None:
        self.id = node_id
        (self.port,) = free_ports(1)
        self.data = directory / f"node-{node_id}" / "data"
        self.log = directory / f"node-{node_id}.log"
        controller = f"{HOST}:{controller_port}"
        is_controller = node_id == CONTROLLER
        listeners = f"PLAINTEXT://{HOST}:{self.port}"
        self.settings = {
            "process.roles": "broker,controller" if is_controller else "broker",
            "node.id": str(node_id),
            "listeners": f"{listeners},CONTROLLER://{controller}" if is_controller else listeners,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.quorum.bootstrap.servers": controller,
            "log.dirs": str(self.data),
            **QUICK,
            **config,
        }
        self.ports: dict[int, int] = {}
        self.is_frozen = False
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = threading.Event()
        self._links: list[dict[str, object]] = []
        """What it was told of its links, and is told again when it comes back."""

    def __repr__(self) -> str:
        return f"<node {self.id} at {HOST}:{self.port}>"

    @property
    def is_running(self) -> bool:
        return self._process is not None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def client(self) -> RawClient:
        return RawClient(HOST, self.port)

    # From start to end

    def begin(self) -> None:
        """Without waiting until it is ready: the controller may be away."""
        assert self._process is None, f"{self} runs already"
        command = [sys.executable, "-m", "tests.cluster.node_main"]
        command += [f"{key}={value}" for key, value in self.settings.items()]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        self._ready = threading.Event()
        threading.Thread(target=self._listen, args=(self._process, self._ready), daemon=True).start()
        self.is_frozen = False
        self._tell({"ports": {str(port): node_id for port, node_id in self.ports.items()}})
        for told in self._links:
            self._tell(told)

    def _listen(self, process: subprocess.Popen[bytes], ready: threading.Event) -> None:
        assert process.stdout is not None
        for _ in process.stdout:
            ready.set()
        process.stdout.close()

    def wait_ready(self) -> None:
        def is_ready() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, f"{self} ended: {self.log.read_text()[-3000:]}"
            return self._ready.is_set()

        wait_until(is_ready, f"{self} to start; its log: {self.log}", START_S)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Cleanly: exit code 0."""
        if self._process is not None:
            self.thaw()
            code = self._end(signal.SIGTERM)
            assert code == 0, f"{self} stopped with {code}: {self.log.read_text()[-3000:]}"

    def _end(self, how: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(how)
        try:
            code = process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"{self} did not stop within {STOP_S} s; its log: {self.log}") from None
        finally:
            assert process.stdin is not None
            process.stdin.close()
        return code

    # Trouble

    def freeze(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self) -> None:
        if self.is_frozen and self._process is not None:
            self._process.send_signal(signal.SIGCONT)
        self.is_frozen = False

    def tell(self, told: dict[str, object]) -> None:
        self._links = [] if "heal" in told else [*self._links, told]
        if self._process is not None:
            self._tell(told)

    def _tell(self, told: dict[str, object]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(told).encode() + b"\n")
        self._process.stdin.flush()


class ClusterProcesses:
    def __init__(self, directory: Path, nodes: int = 3, config: Mapping[str, str] | None = None) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        (controller_port,) = free_ports(1)
        self.nodes = [
            ClusterNodeProcess(number, directory, controller_port, config or {}) for number in range(1, nodes + 1)
        ]
        for node in self.nodes:
            node.ports = {each.port: each.id for each in self.nodes} | {controller_port: CONTROLLER}

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{node.port}" for node in self.nodes)

    def node(self, node_id: int) -> ClusterNodeProcess:
        return self.nodes[node_id - 1]

    def __enter__(self) -> Self:
        try:
            for node in self.nodes:
                node.begin()
            for node in self.nodes:
                node.wait_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.kill()
        else:
            self.stop()

    def stop(self) -> None:
        self.heal()
        for node in reversed(self.nodes):
            node.stop()

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()

    # Links

    def cut(self, some: Iterable[int], others: Iterable[int], *, one_way: bool = False) -> None:
        self._tell({"cut": [sorted(some), sorted(others)], "one_way": one_way})

    def slow(self, seconds: float, some: Iterable[int], others: Iterable[int]) -> None:
        self._tell({"slow": seconds, "some": sorted(some), "others": sorted(others)})

    def heal(self) -> None:
        self._tell({"heal": True})

    def _tell(self, told: dict[str, object]) -> None:
        for node in self.nodes:
            node.tell(told)
