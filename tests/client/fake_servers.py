"""Somebody who listens, and does with each connection what a test says."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

from barnabas.client.address import Address
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.frames import FrameReader, Request, decode_request, encode_response
from barnabas.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.protocol.schema import Message

__all__ = ["FakeBroker", "FakeServer", "closed_port", "read_request"]

_PATIENCE_S = 20


class FakeServer:
    def __init__(self, handle: Callable[[socket.socket], None]) -> None:
        self._handle = handle
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self._listening.getsockname())
        self.connections = 0
        self._ended = threading.Event()
        self._handlers: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._serve, name="a fake server")
        self._thread.start()

    def _serve(self) -> None:
        while not self._ended.is_set():
            with suppress(OSError):
                connection, _ = self._listening.accept()
                if self._ended.is_set():
                    connection.close()
                    return
                self.connections += 1
                self._handlers.append(threading.Thread(target=self._attend, args=[connection]))
                self._handlers[-1].start()

    def _attend(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(_PATIENCE_S)
            self._handle(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        with suppress(OSError):
            socket.create_connection(self.address, timeout=_PATIENCE_S).close()
        for thread in (self._thread, *self._handlers):
            thread.join(2 * _PATIENCE_S)
            assert not thread.is_alive()
        self._listening.close()


class FakeBroker(FakeServer):
    """It offers some APIs and answers what a test says; None ends the connection instead."""

    def __init__(
        self,
        answer: Callable[[Request], Message | None],
        offered: Mapping[int, tuple[int, int]] | None = None,
        correlation_offset: int = 0,
    ) -> None:
        self.offered = {api.key: (api.first, api.last_stable) for api in APIS.values()} if offered is None else offered
        self.asked: list[str] = []
        self._answer = answer
        self._correlation_offset = correlation_offset
        super().__init__(self._converse)

    def _converse(self, connection: socket.socket) -> None:
        while (request := read_request(connection)) is not None:
            self.asked.append(request.api.name)
            message = self._versions() if request.api.name == "ApiVersions" else self._answer(request)
            if message is None:
                return
            header = request.header
            correlation_id = header.correlation_id + self._correlation_offset
            version = header.request_api_version
            connection.sendall(b"".join(encode_response(request.api, version, correlation_id, message)))  # type: ignore[arg-type]

    def _versions(self) -> ApiVersionsResponse:
        keys = [
            ApiVersion(api_key=key, min_version=first, max_version=last) for key, (first, last) in self.offered.items()
        ]
        return ApiVersionsResponse(api_keys=keys)


def read_request(connection: socket.socket) -> Request | None:
    """None if the other side has ended, or is no client of Kafka's."""
    reader = FrameReader(1 << 20)
    try:
        while (frame := reader.next_frame()) is None:
            data = connection.recv(1 << 16)
            if not data:
                return None
            reader.receive(data)
        return decode_request(frame)
    except MalformedFrame:
        return None


def closed_port() -> Address:
    """Where nobody listens: it was given to us a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return Address(*listening.getsockname())
