"""A node in a thread of its own, with its own loop, that tests start, stop and start again on the same directory."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import trio

from barnabas.broker.clock import Clock
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.node import Node
from barnabas.storage.disk import Disk
from tests.kafka.broker import free_ports
from tests.kafka.client import RawClient

T = TypeVar("T")

START_S = 20
STOP_S = 20
UNTIL_S = 20


class RunningNode:
    def __init__(
        self, directory: Path, *, clock: Clock | None = None, disk: Disk | None = None, **settings: str
    ) -> None:
        """Settings are Kafka's keys, with underscores for dots."""
        self.directory = directory
        self.clock = clock
        self.disk = disk
        self.settings = {name.replace("_", "."): value for name, value in settings.items()}
        self.lines: list[str] = []
        """What the node reported."""
        self.node: Node | None = None

    def start(self, port: int = 0) -> Self:
        settings = {
            "log.dirs": str(self.directory),
            "listeners": f"PLAINTEXT://127.0.0.1:{port or free_ports(1)[0]}",
            **self.settings,
        }
        config = NodeConfig.load({}, settings)
        node = Node(config, clock=self.clock, disk=self.disk, report=self.lines.append)
        started = threading.Event()
        self._failure: BaseException | None = None

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                self._token = trio.lowlevel.current_trio_token()
                self._scope = nursery.cancel_scope
                await nursery.start(node.run)
                started.set()

        def run() -> None:
            try:
                trio.run(main)
            except BaseException as error:  # noqa: BLE001 - told to the test
                while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
                    error = error.exceptions[0]
                self._failure = error
            finally:
                started.set()

        self._thread = threading.Thread(target=run, name=f"node at {self.directory}")
        self._thread.start()
        assert started.wait(START_S), "the node did not start in time"
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        self.node = node
        return self

    def _check_alive(self) -> None:
        """A node that died has said why; that is what the test shall see."""
        if self._failure is not None:
            self.node = None
            raise self._failure

    @property
    def address(self) -> tuple[str, int]:
        assert self.node is not None
        self._check_alive()
        return self.node.addresses[0]

    @property
    def bootstrap(self) -> str:
        host, port = self.address
        return f"{host}:{port}"

    def client(self) -> RawClient:
        return RawClient(*self.address)

    def do(self, action: Callable[[Node], T]) -> T:
        """In the node's own thread, between requests."""
        assert self.node is not None
        return trio.from_thread.run_sync(action, self.node, trio_token=self._token)

    def carry_out(self, action: Callable[[Node], Awaitable[T]]) -> T:
        """In the node's own thread, where it may wait."""
        assert self.node is not None
        return trio.from_thread.run(action, self.node, trio_token=self._token)

    def until(self, condition: Callable[[Node], object]) -> None:
        """Wait in the node's loop, which goes on meanwhile."""
        node = self.node
        assert node is not None

        async def wait() -> None:
            with trio.fail_after(UNTIL_S):
                while not condition(node):
                    await trio.lowlevel.checkpoint()

        trio.from_thread.run(wait, trio_token=self._token)

    def stop(self) -> None:
        if self.node is None:
            return
        self._check_alive()
        node, self.node = self.node, None
        trio.from_thread.run_sync(node.stop, trio_token=self._token)
        self._thread.join(STOP_S)
        assert not self._thread.is_alive(), "the node did not stop in time"
        if self._failure is not None:
            raise self._failure

    def kill(self) -> None:
        """It leaves what a process leaves that is killed: nothing is written any more."""
        assert self.node is not None
        self.node = None
        trio.from_thread.run_sync(self._scope.cancel, trio_token=self._token)
        self._thread.join(STOP_S)
        assert not self._thread.is_alive(), "the node did not end in time"
        if self._failure is not None:
            raise self._failure

    def restart(self) -> None:
        """On the same port, so that clients find it again."""
        port = self.address[1]
        self.stop()
        self.start(port)

    def __enter__(self) -> Self:
        return self.start() if self.node is None else self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
