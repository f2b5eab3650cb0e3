"""One connection among others: how long it is served at a stretch, and what becomes of the others when it breaks."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Coroutine
from contextlib import closing

import pytest
import trio

from barnabas.broker.connection import TURN_NS, Answer, Connection
from barnabas.broker.memory import Memory
from barnabas.broker.poller import Poller
from barnabas.storage.file_slice import FileSlice

pytestmark = pytest.mark.trio

MEBIBYTE = 1 << 20


class SlowServer:
    """Each request takes it half a turn of computing, and the answer is the request."""

    max_frame_bytes = MEBIBYTE
    memory = Memory(MEBIBYTE, MEBIBYTE)

    def __init__(self, nursery: trio.Nursery) -> None:
        self.served: list[bytes] = []
        self.failures: list[str] = []
        self.broken = b""
        """The request that we fail at."""
        self._nursery = nursery

    def serve(self, connection: Connection, frame: bytes | bytearray) -> Answer | Coroutine[None, None, Answer]:
        ends_ns = time.monotonic_ns() + TURN_NS // 2
        while time.monotonic_ns() < ends_ns:
            pass
        body = bytes(frame[4:])
        if body == self.broken:
            raise RuntimeError("we are broken")
        self.served.append(body)
        return [bytes(frame)]

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        async def act() -> None:
            await trio.sleep(delay_ms / 1000)
            action()

        self._nursery.start_soon(act)

    def wait_for(self, connection: Connection, answer: Coroutine[None, None, Answer]) -> None:
        raise AssertionError("nothing waits here")

    def read_cold(self, connection: Connection, part: FileSlice) -> None:
        raise AssertionError("nothing is cold here")

    def closed(self, connection: Connection, reason: str) -> None:
        self.failures.append(reason)

    def note_refusal_of(self, connection: Connection, reason: str) -> None:
        raise AssertionError(reason)

    def report_exception(self, what: str, error: BaseException) -> None:
        self.failures.append(repr(error))

    def note_exhaustion(self, error: OSError) -> None:
        raise AssertionError(error)


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


async def answers(sock: socket.socket, count: int) -> None:
    """Until so many bytes have come."""
    received = 0
    stream = trio.socket.from_stdlib_socket(sock)
    with trio.fail_after(20):
        while received < count:
            data = await stream.recv(65_536)
            assert data
            received += len(data)


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    """A client's end and ours."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        theirs = socket.create_connection(listener.getsockname())
        return theirs, listener.accept()[0]


MANY = [b"greedy %03d" % number for number in range(40)]


async def test_many_requests_of_one_read_let_others_in_between() -> None:
    with closing(Poller()) as poller:
        async with trio.open_nursery() as nursery:
            server = SlowServer(nursery)
            pairs = [tcp_pair() for _ in range(2)]
            connections = [Connection(ours, "TEST", poller, server) for _, ours in pairs]
            greedy, modest = (theirs for theirs, _ in pairs)
            greedy.sendall(framed(*MANY))
            modest.sendall(framed(b"modest"))
            nursery.start_soon(poller.run)
            await answers(greedy, len(framed(*MANY)))
            await answers(modest, len(framed(b"modest")))
            with trio.fail_after(20):
                # A turn may be over with the last request, and the next one finds nothing more.
                while not all(connection.is_idle for connection in connections):
                    await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
    # In order, and the other one has not waited for the last of them.
    assert [one for one in server.served if one != b"modest"] == MANY
    assert server.served.index(b"modest") < len(MANY) // 2
    for pair in pairs:
        for sock in pair:
            sock.close()


@pytest.mark.parametrize("number", [0, 30], ids=["in its first turn", "in a later one"])
async def test_a_fault_of_ours_ends_that_connection_alone(number: int) -> None:
    with closing(Poller()) as poller:
        async with trio.open_nursery() as nursery:
            server = SlowServer(nursery)
            server.broken = MANY[number]
            pairs = [tcp_pair() for _ in range(2)]
            connections = [Connection(ours, "TEST", poller, server) for _, ours in pairs]
            greedy, modest = (theirs for theirs, _ in pairs)
            greedy.sendall(framed(*MANY))
            nursery.start_soon(poller.run)
            with trio.fail_after(20):
                while connections[0].is_open:
                    await trio.lowlevel.checkpoint()
            modest.sendall(framed(b"modest"))
            await answers(modest, len(framed(b"modest")))
            nursery.cancel_scope.cancel()
    assert server.failures == ["RuntimeError('we are broken')", "the broker failed; its log says why"]
    for pair in pairs:
        for sock in pair:
            sock.close()
