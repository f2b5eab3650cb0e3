"""A TCP proxy on loopback that keeps a copy of every Kafka frame that passes through it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field


@dataclass
class Exchange:
    """A request and, where one came, its response: bytes without the four bytes of size in front."""

    client: str
    api_key: int
    version: int
    correlation_id: int
    client_id: str
    request: bytes
    response: bytes | None = None

    def frames(self) -> Iterator[tuple[str, bytes]]:
        yield "request", self.request
        if self.response is not None:
            yield "response", self.response


@dataclass
class Recording:
    """Everything that passed, in the order of the requests; `client` names whoever is at work now."""

    client: str = "broker"
    exchanges: list[Exchange] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, exchange: Exchange) -> None:
        with self._lock:
            self.exchanges.append(exchange)


class Proxy:
    """Listens on an ephemeral port; the target is given later, because the broker must know our port first.

    The brokers' own connections, to the controller and to each other, come through proxies too. They are told apart
    by their client id: that of every recorded client starts with "golden".
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._target: tuple[str, int] | None = None
        self._open: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []
        self.port: int = self._listener.getsockname()[1]

    def start(self, target_port: int) -> None:
        self._target = ("127.0.0.1", target_port)
        self._spawn(self._accept)

    def close(self) -> None:
        for each in self._open:
            # shutdown wakes the thread that waits in accept or recv; close alone does not.
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        for each in self._open:
            each.close()

    def _spawn(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        assert self._target is not None
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            self._open += [client, server]
            waiting: dict[int, Exchange] = {}
            self._spawn(self._requests, client, server, self._recording.client, waiting)
            self._spawn(self._responses, server, client, waiting)

    def _requests(self, client: socket.socket, server: socket.socket, name: str, waiting: dict[int, Exchange]) -> None:
        for frame in frames(client):
            api_key, version, correlation_id, length = struct.unpack_from(">hhih", frame)
            client_id = frame[10 : 10 + max(length, 0)].decode()
            speaker = name if client_id.startswith("golden") else "broker"
            exchange = Exchange(speaker, api_key, version, correlation_id, client_id, frame)
            waiting[correlation_id] = exchange
            self._recording.add(exchange)
            with suppress(OSError):
                server.sendall(struct.pack(">i", len(frame)) + frame)
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    def _responses(self, server: socket.socket, client: socket.socket, waiting: dict[int, Exchange]) -> None:
        for frame in frames(server):
            exchange = waiting.pop(struct.unpack_from(">i", frame)[0], None)
            if exchange is not None:
                exchange.response = frame
            with suppress(OSError):
                client.sendall(struct.pack(">i", len(frame)) + frame)
        with suppress(OSError):
            client.shutdown(socket.SHUT_WR)


def frames(connection: socket.socket) -> Iterator[bytes]:
    """The frames that arrive, until the peer closes or the connection breaks."""
    try:
        while len(size := read_exactly(connection, 4)) == 4:
            (length,) = struct.unpack(">i", size)
            frame = read_exactly(connection, length)
            if len(frame) < length:
                return
            yield frame
    except OSError:
        return


def read_exactly(connection: socket.socket, count: int) -> bytes:
    """Fewer bytes than asked for mean that the peer closed."""
    data = bytearray()
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            break
        data += more
    return bytes(data)
