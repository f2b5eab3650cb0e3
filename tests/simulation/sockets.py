"""The ends of simulated connections, dressed as what a node and its clients know: sockets behind a poller, and streams
of trio."""

from __future__ import annotations

import errno
import os
import socket
from collections import deque
from collections.abc import Sequence
from typing import Any, cast

import trio

from barnabas.broker.listener import CannotListen, Listener
from barnabas.broker.poller import PEER_CLOSED, READABLE, WRITABLE, Handler, Poller
from tests.simulation.links import End, Host

__all__ = ["SimulatedListener", "SimulatedPoller", "SimulatedStream", "Sockets"]

BROKEN = 0x8 | 0x10
"""EPOLLERR and EPOLLHUP, which are always told."""
_BACKLOG = 128
_AT_ONCE = 32
"""Sockets that are served before other tasks get their turn."""


class Sockets:
    """Of one process: they go with it."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.is_alive = True
        self.listening: dict[tuple[str, int], ListeningSocket] = {}
        self.by_number: dict[int, ConnectedSocket | ListeningSocket] = {}
        self._next = 3

    def next_number(self) -> int:
        self._next += 1
        return self._next

    def die(self, *, loudly: bool) -> None:
        """The process has ended, or its machine, of which nobody is told."""
        self.is_alive = False
        self.listening.clear()
        for end in list(self.host.ends.values()):
            if loudly:
                end.close()
            else:
                end.vanish()


class _Socket:
    family = socket.AF_INET

    def __init__(self, sockets: Sockets) -> None:
        self.sockets = sockets
        self.poller: SimulatedPoller | None = None
        self._number = sockets.next_number()

    def fileno(self) -> int:
        return self._number

    def setblocking(self, _flag: bool) -> None:
        """It never blocks."""

    def setsockopt(self, *_option: int) -> None:
        """There is nothing to tune."""

    def changed(self) -> None:
        if self.poller is not None:
            self.poller.look_at(self._number)


class ConnectedSocket(_Socket):
    def __init__(self, sockets: Sockets, end: End) -> None:
        super().__init__(sockets)
        sockets.by_number[self._number] = self
        self.end = end
        end.on_change = self.changed

    def getsockname(self) -> tuple[str, int]:
        return self.end.address

    def getpeername(self) -> tuple[str, int]:
        return self.end.other

    def recv(self, most: int) -> bytes:
        return self.end.receive(most)

    def send(self, data: bytes | memoryview, _flags: int = 0) -> int:
        return self.end.send(data)

    def close(self) -> None:
        self.sockets.by_number.pop(self._number, None)
        if self.sockets.is_alive:
            self.end.close()

    @property
    def events(self) -> int:
        end = self.end
        return (
            (READABLE if end.readable else 0)
            | (WRITABLE if end.writable else 0)
            | (PEER_CLOSED if end.ending else 0)
            | (BROKEN if end.broken else 0)
        )


class ListeningSocket(_Socket):
    def __init__(self, sockets: Sockets, address: tuple[str, int]) -> None:
        super().__init__(sockets)
        sockets.by_number[self._number] = self
        self.address = address
        self._waiting: deque[End] = deque()

    def getsockname(self) -> tuple[str, int]:
        return self.address

    def come(self, end: End) -> bool:
        if len(self._waiting) >= _BACKLOG:
            return False
        self._waiting.append(end)
        self.changed()
        return True

    def accept(self) -> tuple[ConnectedSocket, tuple[str, int]]:
        if not self._waiting:
            raise BlockingIOError
        end = self._waiting.popleft()
        return ConnectedSocket(self.sockets, end), end.other

    def close(self) -> None:
        self.sockets.by_number.pop(self._number, None)
        self.sockets.listening.pop(self.address, None)
        if self.sockets.is_alive:
            for end in self._waiting:
                end.close()

    @property
    def events(self) -> int:
        return READABLE if self._waiting else 0


class SimulatedPoller(Poller):
    """Level-triggered, as epoll. Whoever has become ready is served by a task of the node: one that is paused serves
    nobody, while its system goes on to take what is sent to it."""

    def __init__(self, sockets: Sockets) -> None:
        self._sockets = sockets
        self._handlers: dict[int, Handler] = {}
        self._masks: dict[int, int] = {}
        self._put_off: list[Any] = []
        self._candidates: dict[int, None] = {}
        self._wake = trio.Event()

    def watch(self, descriptor: int, events: int, handler: Handler) -> None:
        self._handlers[descriptor] = handler
        self._sockets.by_number[descriptor].poller = self
        self.change(descriptor, events)

    def change(self, descriptor: int, events: int) -> None:
        self._masks[descriptor] = events
        self.look_at(descriptor)

    def forget(self, descriptor: int) -> None:
        self._handlers.pop(descriptor, None)
        self._masks.pop(descriptor, None)
        self._candidates.pop(descriptor, None)

    def look_at(self, descriptor: int) -> None:
        self._candidates[descriptor] = None
        self._wake.set()

    def _events(self, descriptor: int) -> int:
        if descriptor not in self._handlers or descriptor not in self._sockets.by_number:
            return 0
        return self._sockets.by_number[descriptor].events & (self._masks[descriptor] | BROKEN)

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            for _ in range(_AT_ONCE):
                if not self._candidates:
                    break
                descriptor = next(iter(self._candidates))
                del self._candidates[descriptor]
                if events := self._events(descriptor):
                    self._handlers[descriptor](events)
                    if self._events(descriptor):
                        self._candidates[descriptor] = None
            if self._put_off:
                self._catch_up()
            if self._candidates:
                self._wake.set()
                await trio.lowlevel.checkpoint()

    def close(self) -> None:
        self._handlers.clear()


class SimulatedListener(Listener):
    """On sockets of the simulation; all else is the node's own."""

    sockets: Sockets

    @classmethod
    def on(cls, sockets: Sockets) -> type[SimulatedListener]:
        return type(cls.__name__, (cls,), {"sockets": sockets})

    def _listen(self, backlog: int) -> Sequence[socket.socket]:
        address = (self.endpoint.host or self.sockets.host.name, self.endpoint.port)
        if address in self.sockets.listening:
            raise CannotListen(f"cannot listen on {address}")
        listening = self.sockets.listening[address] = ListeningSocket(self.sockets, address)
        return [cast(socket.socket, listening)]

    def _check_files_left(self, some: socket.socket) -> None:
        """There are as many as anybody wants."""


class SimulatedStream(trio.abc.Stream):
    """The end of who has dialled."""

    def __init__(self, end: End) -> None:
        self._end = end
        self._changed = trio.Event()
        end.on_change = self._note

    def _note(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()
        rest = memoryview(data)
        while rest:
            self._check_open()
            try:
                rest = rest[self._end.send(rest) :]
            except BlockingIOError:
                await self._changed.wait()
            except OSError as error:
                raise trio.BrokenResourceError(str(error)) from error

    async def wait_send_all_might_not_block(self) -> None:
        while not self._end.writable:
            await self._changed.wait()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        while True:
            self._check_open()
            try:
                return self._end.receive(max_bytes or 1 << 16)
            except BlockingIOError:
                await self._changed.wait()
            except OSError as error:
                raise trio.BrokenResourceError(str(error)) from error

    def _check_open(self) -> None:
        if not self._end.is_open:
            raise trio.ClosedResourceError

    async def aclose(self) -> None:
        self._end.close()
        self._note()
        await trio.lowlevel.checkpoint()


def refused(address: tuple[str, int]) -> OSError:
    return ConnectionRefusedError(errno.ECONNREFUSED, f"{os.strerror(errno.ECONNREFUSED)} at {address[0]}:{address[1]}")
