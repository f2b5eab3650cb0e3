"""What lives in the loop of a test's broker: the node that runs now, and what outlives it, as the disk in memory."""

from __future__ import annotations

import os
import socket
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

import trio

from barnabas.broker.clock import Clock
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.event_log import Event, Level
from barnabas.broker.network import Network
from barnabas.broker.node import Node
from barnabas.broker.start_problems import sentences
from barnabas.replication.watermark import Watermark
from barnabas.storage.disk import Disk
from barnabas.testing.errors import BrokerFailed
from barnabas.testing.history import History
from barnabas.testing.interception import Interception
from barnabas.testing.loop_thread import LoopThread

__all__ = ["HOST", "Host", "Place", "when_idle"]

HOST = "127.0.0.1"
_PATIENCE_S = 0.03
"""Until a connection that is under way when the broker stops is cut: a test shall not wait for who does not read."""
_BUSY_S = 1


class Place:
    """The address of a broker, kept for it while it is down: a socket that is bound and does not listen refuses
    clients, and lets the node listen there."""

    def __init__(self, port: int) -> None:
        self._socket: socket.socket | None = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((HOST, port))
        except OSError as error:
            self.close()
            problem = f"port={port} of {HOST} cannot be had, {os.strerror(error.errno or 0).lower()}"
            raise BrokerFailed(f"{problem}: leave port= away for one that is free") from None
        self.port: int = self._socket.getsockname()[1]

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Host:
    """All but `__init__` is called in the loop."""

    def __init__(
        self,
        settings: Mapping[str, str],
        disk: Disk | None,
        clock: Clock,
        thread: LoopThread,
        history: History,
        interception: Interception,
        network: Network | None = None,
    ) -> None:
        self._settings = settings
        self._disk = disk
        self._clock = clock
        self._thread = thread
        self._history = history
        self._interception = interception
        self._network = network
        self._node: Node | None = None
        self._scope = trio.CancelScope()
        self._ended = trio.Event()
        self._why_down = "it has not been started"
        self._watchers: set[trio.Event] = set()

    @property
    def node(self) -> Node:
        if self._node is None:
            raise BrokerFailed(f"the broker is down: {self._why_down}")
        return self._node

    @property
    def is_up(self) -> bool:
        return self._node is not None

    # Starting and stopping

    async def start(self) -> None:
        if self._node is not None:
            return
        try:
            config = NodeConfig.load({}, dict(self._settings))
            for notice in config.notices:
                self._history.note(Event(notice.text, Level.WARNING if notice.warning else Level.INFO))
            node = Node(
                config,
                clock=self._clock,
                disk=self._disk,
                network=self._network,
                report=self._history.note,
                around_handlers=self._interception.around,
            )
            self._ended = trio.Event()
            await self._thread.nursery.start(self._run, node)
        except Exception as error:
            problems = list(sentences(error))
            if not problems:
                raise
            raise BrokerFailed(" ".join(problems)) from None

    async def _run(self, node: Node, *, task_status: trio.TaskStatus[None]) -> None:
        has_started = False
        try:
            with trio.CancelScope() as self._scope:
                async with trio.open_nursery() as nursery:
                    await nursery.start(node.run)
                    has_started = True
                    self._node = node
                    node.partitions.on_open.append(self._tell)
                    task_status.started()
                    self._tell()
        except Exception as error:
            if not has_started:
                raise
            self._why_down = " ".join(sentences(error))
            if not self._why_down:
                faults = ", ".join(map(repr, _leaves(error)))
                self._why_down = f"a fault of its own, {faults}; events() has the traceback"
                self._history.note(Event("".join(traceback.format_exception(error)), Level.ERROR))
        finally:
            self._node = None
            self._ended.set()
            self._tell()

    def drop_connections(self) -> None:
        for listener in self.node.all_listeners:
            for connection in list(listener.connections):
                connection.close("the test cut it")

    async def stop(self) -> None:
        """Cleanly: what is here is on the disk, and says so."""
        if self._node is None:
            return
        node = self._node
        self._why_down = "it was stopped; start() starts it again"
        node.stop()
        with trio.move_on_after(_PATIENCE_S):
            await self._ended.wait()
        while not self._ended.is_set():
            self.drop_connections()
            with trio.move_on_after(_PATIENCE_S):
                await self._ended.wait()

    def let_go(self) -> None:
        """In a process that was forked, where no loop runs: clients shall see that the parent has closed something."""
        if self._node is not None:
            for listener in self._node.all_listeners:
                listener.let_go()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def kill(self) -> None:
        """It leaves what a process leaves that is killed."""
        if self._node is not None:
            self._why_down = "it was killed; start() starts it again"
            self._scope.cancel()
            await self._ended.wait()

    # Waiting

    def _tell(self, *_: object) -> None:
        watchers, self._watchers = self._watchers, set()
        for event in watchers:
            event.set()

    @contextmanager
    def watching(self, watermarks: Callable[[Node], Iterable[Watermark]]) -> Iterator[trio.Event]:
        """The event is set when one of them rises, a partition appears, or the node comes or goes. Who looks whether
        there is what he waits for does so in here: then nothing is missed."""
        event = trio.Event()
        watched = list(watermarks(self._node)) if self._node is not None else []
        for watermark in watched:
            watermark.watch(event)
        self._watchers.add(event)
        try:
            yield event
        finally:
            self._watchers.discard(event)
            for watermark in watched:
                watermark.unwatch(event)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


async def when_idle() -> None:
    """All that is due has been done, or a busy second has passed."""
    from trio.testing import wait_all_tasks_blocked

    with trio.move_on_after(_BUSY_S):
        await wait_all_tasks_blocked()
