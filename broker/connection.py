"""One client's connection: frames in, answers out, in the order of the requests.

While a request waits, or its answer does not fit into the socket, nothing more is read: a client that does not read
its answers stops being served, and holds little more than one answer and what one read brought.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from time import monotonic_ns
from types import CoroutineType
from typing import Any, Protocol

from barnabas.broker.memory import COUNTED_BYTES, Memory
from barnabas.broker.outgoing import Outgoing
from barnabas.broker.poller import NOTHING, PEER_CLOSED, READABLE, WRITABLE, Poller
from barnabas.protocol.codec import Chunk
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.frames import FrameReader
from barnabas.storage.file_slice import FileSlice

__all__ = ["Answer", "CloseConnection", "Connection", "Server", "address_of"]

READ_BYTES = 128 * 1024
ANSWERS_BYTES = 1024 * 1024
"""Answers of so many bytes leave before more requests of the same read are served."""

TURN_NS = 5_000_000
"""Then others are served, also if more requests came with the last one."""

Answer = list[Chunk] | None
"""What is sent; None where the client expects nothing."""


def address_of(peer: tuple[Any, ...]) -> str:
    """Without the dress that an IPv4 address wears on an IPv6 socket; "" for a peer that has none."""
    return str(peer[0]).removeprefix("::ffff:") if len(peer) > 1 else ""


class CloseConnection(Exception):  # noqa: N818 - what has to be done
    """The only answer to this request is that the connection ends."""


class Server(Protocol):
    """What a connection asks for."""

    max_frame_bytes: int
    memory: Memory

    def serve(self, connection: Connection, frame: bytes | bytearray) -> Answer | Coroutine[Any, Any, Answer]:
        """The answer, or what has to be awaited for it. MalformedFrame or CloseConnection end the connection."""

    def wait_for(self, connection: Connection, answer: Coroutine[Any, Any, Answer]) -> None:
        """Await it in a task of its own, and call `answered` with what it is."""

    def read_cold(self, connection: Connection, part: FileSlice) -> None:
        """Read what the page cache does not have, in a task of its own, and call `warmed` with the beginning of it."""

    def later(self, delay_ms: int, action: Callable[[], None]) -> None: ...

    def closed(self, connection: Connection, reason: str) -> None: ...

    def note_refusal_of(self, connection: Connection, reason: str) -> None:
        """It is closed for what it sent."""

    def report_exception(self, what: str, error: BaseException) -> None: ...

    def note_exhaustion(self, error: OSError) -> None: ...


class Connection:
    __slots__ = (
        "_events",
        "_frames",
        "_outgoing",
        "_poller",
        "_server",
        "_waiting_bytes",
        "_warming",
        "address",
        "client",
        "held",
        "idle_rounds",
        "is_fresh",
        "is_open",
        "listener",
        "local",
        "muted",
        "on_gone",
        "owed",
        "paused",
        "peer",
        "socket",
        "spent_ns",
        "throttle_ms",
        "waiting",
        "yielded",
    )

    def __init__(self, sock: socket.socket, listener: str, poller: Poller, server: Server) -> None:
        sock.setblocking(False)
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = sock
        self.listener = listener
        self.local: tuple[Any, ...] = sock.getsockname()
        self.peer: tuple[Any, ...] = sock.getpeername()
        self.client: tuple[str, str] = ("unknown", "unknown")
        """The name and version of its software, if it said them."""
        self.is_open = True
        self.waiting = False
        """A request has not been answered yet."""
        self.muted = False
        """Throttled: nothing is read until `unmute`."""
        self.yielded = False
        """Others have their turn before its next request."""
        self.on_gone: Callable[[], object] | None = None
        """Called when nobody is there any more to wait for the answer that is awaited."""
        self.spent_ns = 0
        self.throttle_ms = 0
        """What throttling.py notes of the request that is being answered."""
        self.address = address_of(self.peer)
        self.held = 0
        self.owed = 0
        self.paused = False
        """Not read while there is too much in memory (memory.py)."""
        self._waiting_bytes = 0
        """Of the request that waits."""
        self.is_fresh = True
        """Something has happened since somebody looked (connection_care.py)."""
        self.idle_rounds = 0
        self._frames = FrameReader(server.max_frame_bytes)
        self._outgoing = Outgoing(sock)
        self._poller = poller
        self._server = server
        self._events = READABLE
        self._warming = False
        """The disk is read for it."""
        poller.watch(sock.fileno(), READABLE, self._ready)

    def __repr__(self) -> str:
        return f"<Connection from {self.peer_name} to {self.listener}>"

    @property
    def peer_name(self) -> str:
        return f"{self.peer[0]}:{self.peer[1]}" if len(self.peer) > 1 else "local"

    # Called by the poller

    def _ready(self, events: int) -> None:
        self.is_fresh = True
        try:
            if events & WRITABLE and self._outgoing:
                self._send()
            elif events & READABLE and not self._blocked:
                self._read()
            elif events & ~(READABLE | WRITABLE | PEER_CLOSED):
                self.close("the client is gone")
            elif events & PEER_CLOSED:
                # It waits in vain, or has said all it has to say: what it sent is answered, and at once.
                self._events = NOTHING
                self._poller.change(self.socket.fileno(), NOTHING)
                if self.on_gone is not None:
                    self.on_gone()
            else:
                # It sends more while it is not being read: it is not looked at again before it is.
                self._attend()
        except Exception as error:  # noqa: BLE001 - it ends this connection alone
            self._fail(error)

    def _answer(self) -> None:
        """Send what requests of this round have brought about."""
        try:
            if self.is_open and self._outgoing:
                self._send()
        except Exception as error:  # noqa: BLE001 - as in `_ready`
            self._fail(error)

    @property
    def is_idle(self) -> bool:
        """Everything that it asked is answered."""
        return self.is_open and not (self.waiting or self.yielded or self._outgoing)

    @property
    def _blocked(self) -> bool:
        return self.waiting or self.muted or self.paused or self.yielded or bool(self._outgoing)

    def _attend(self) -> None:
        """Tell the poller what we wait for now."""
        if self._outgoing.cold is not None:
            events = PEER_CLOSED
            self._warm()
        else:
            events = WRITABLE if self._outgoing else PEER_CLOSED if self._blocked else READABLE
        if events != self._events and self.is_open:
            self._events = events
            self._poller.change(self.socket.fileno(), events)

    def _read(self) -> None:
        try:
            data = self.socket.recv(READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self.close("the client closed it")
            return
        frames = self._frames
        frames.receive(data)
        self._serve()
        if self._outgoing and self.is_open:
            if self._outgoing.size > COUNTED_BYTES:
                self._send()
            else:
                self._poller.put_off(self._answer)
        if (frames.held > COUNTED_BYTES or self.held) and self.is_open:
            self._account()

    def _account(self) -> None:
        held = self._frames.held
        incomplete = held > COUNTED_BYTES and not self._blocked
        self._server.memory.hold(self, held + self._waiting_bytes, incomplete=incomplete)

    def _serve(self) -> None:
        """The requests that are here, until one has to wait; their answers leave together."""
        outgoing = self._outgoing
        memory = self._server.memory
        turn_ends_ns = 0
        try:
            while True:
                if memory.is_full:
                    memory.wait(self)
                    break
                frame = self._frames.next_frame()
                if frame is None:
                    if self.held:
                        self._account()
                    break
                answer = self._server.serve(self, frame)
                if type(answer) is CoroutineType:
                    self.waiting = True
                    if len(frame) > COUNTED_BYTES:
                        self._waiting_bytes = len(frame)
                        self._account()
                    self._server.wait_for(self, answer)
                    break
                if answer is not None:
                    outgoing.add(answer)  # type: ignore[arg-type] # it is no coroutine
                if self.muted or (outgoing.size > ANSWERS_BYTES and not outgoing.flush()):
                    break
                if not turn_ends_ns:
                    turn_ends_ns = monotonic_ns() + TURN_NS
                elif monotonic_ns() > turn_ends_ns:
                    self.yielded = True
                    self._server.later(0, self._take_turn)
                    break
        except (MalformedFrame, CloseConnection) as error:
            with suppress(OSError):
                outgoing.flush()
            self._server.note_refusal_of(self, str(error))
            self.close(str(error))
            return
        if not outgoing and (self.muted or self.paused):
            self._attend()

    def _send(self) -> None:
        if self._flush():
            if self._events != READABLE:
                self._attend()
                self._go_on()
        else:
            self._attend()

    def _flush(self) -> bool:
        """Whether all is sent; what is not stays in memory, and is counted there."""
        sent = self._outgoing.flush()
        if self.owed or not sent:
            self._server.memory.owe(self, self._outgoing.in_memory)
        return sent

    def _warm(self) -> None:
        if not self._warming and self.is_open:
            self._warming = True
            assert self._outgoing.cold is not None
            self._server.read_cold(self, self._outgoing.cold)

    # Called when what was awaited is there

    def warmed(self, data: bytes) -> None:
        self._warming = False
        if self.is_open:
            self._outgoing.warmed(data)
            try:
                self._send()
            except Exception as error:  # noqa: BLE001 - as in `_ready`
                self._fail(error)

    def answered(self, answer: Answer) -> None:
        self.waiting = False
        self.is_fresh = True
        if self._waiting_bytes:
            self._waiting_bytes = 0
            self._account()
        if not self.is_open:
            return
        try:
            if answer is not None:
                self._outgoing.add(answer)
            if self._flush():
                self._go_on()
            self._attend()
        except Exception as error:  # noqa: BLE001 - as in `_ready`
            self._fail(error)

    def _take_turn(self) -> None:
        self.yielded = False
        self._continue()

    def _fail(self, error: Exception) -> None:
        """It ends this connection alone, whoever called."""
        if isinstance(error, OSError):
            self.close(f"{error.strerror or error}")
        else:
            self._server.report_exception(f"the connection from {self.peer_name} failed", error)
            self.close("the broker failed; its log says why")

    def unmute(self) -> None:
        self.muted = False
        self._continue()

    def pause(self) -> None:
        self.paused = True
        self._attend()

    def resume(self) -> None:
        self.paused = False
        self._continue()

    def _continue(self) -> None:
        if not self.is_open:
            return
        try:
            self._go_on()
            self._attend()
        except Exception as error:  # noqa: BLE001 - as in `_ready`
            self._fail(error)

    def _go_on(self) -> None:
        """Requests may be here already that came with the last one."""
        if not self._blocked:
            self._serve()
            if self._outgoing and self.is_open:
                self._send()

    def close(self, reason: str) -> None:
        if self.is_open:
            self.is_open = False
            if self.on_gone is not None:
                self.on_gone()
            self._poller.forget(self.socket.fileno())
            self.socket.close()
            self._server.memory.forget(self)
            self._server.closed(self, reason)
