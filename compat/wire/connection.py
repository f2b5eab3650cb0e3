"""One connection to a broker: a request, and its answer."""

from __future__ import annotations

import socket
import struct
from collections import deque
from itertools import count
from types import TracebackType
from typing import Any, Self

from compat.wire.codec import MalformedAnswerError, Reader, decode, encode, with_length
from compat.wire.schemas import Api, api

__all__ = ["Connection", "advertised", "read_answer", "request_frame"]

PATIENCE_S = 10.0
UNSUPPORTED_VERSION = 35


class Connection:
    def __init__(self, host: str, port: int, *, client_id: str = "compat", patience_s: float = PATIENCE_S) -> None:
        self.client_id = client_id
        self._socket = socket.create_connection((host, port), timeout=patience_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ids = count(1)
        self._asked: deque[tuple[Api, int, int]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def ask(self, name: str, version: int, **values: Any) -> dict[str, Any]:
        """ConnectionError if the broker ends the connection instead, TimeoutError if it says nothing."""
        self.send(name, version, **values)
        return self.receive()

    def send(self, name: str, version: int, **values: Any) -> None:
        """Without waiting for the answer, which `receive` gives: those of one connection come in order."""
        self._asked.append((api(name), version, self.tell(name, version, **values)))

    def tell(self, name: str, version: int, **values: Any) -> int:
        """What no answer comes to."""
        one, correlation_id = api(name), next(self._ids)
        self._socket.sendall(with_length(request_frame(one, version, correlation_id, self.client_id, values)))
        return correlation_id

    def receive(self) -> dict[str, Any]:
        one, version, correlation_id = self._asked.popleft()
        (length,) = struct.unpack(">i", self._exactly(4))
        answered, values = read_answer(one, version, self._exactly(length))
        if answered != correlation_id:
            raise MalformedAnswerError(f"{one.name} v{version}: answer {answered}, and {correlation_id} was asked")
        return values

    def fileno(self) -> int:
        """For a selector, which says when there is something to receive."""
        return self._socket.fileno()

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def is_ended(self) -> bool:
        """Whether the broker ends the connection, for which it is waited."""
        try:
            return self._socket.recv(1) == b""
        except ConnectionError:
            return True

    def _exactly(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            some = self._socket.recv(length - len(data))
            if not some:
                raise ConnectionError("the broker ended the connection")
            data += some
        return bytes(data)


def request_frame(one: Api, version: int, correlation_id: int, client_id: str, values: dict[str, Any]) -> bytes:
    """Without its length."""
    name = client_id.encode()
    header = struct.pack(f">hhih{len(name)}s", one.key, version, correlation_id, len(name), name)
    tags = b"\x00" if version in one.request.flexible else b""
    return header + tags + encode(one.request, version, values)


def read_answer(one: Api, version: int, data: bytes) -> tuple[int, dict[str, Any]]:
    """The id that it answers, and what it says; `data` is without its length."""
    reader = Reader(data)
    correlation_id = reader.number("int32")
    if one.name == "ApiVersions":
        # Its header never has tags, and a version that the broker does not know is answered at version 0.
        refused = reader.data[4:6] == struct.pack(">h", UNSUPPORTED_VERSION)
        version = 0 if refused else version
    elif version in one.response.flexible:
        reader.skip_tags()
    return correlation_id, decode(one.response, version, reader.data[reader.position :])


def advertised(host: str, port: int) -> dict[int, tuple[int, int]]:
    """The first and the last version of each API, by its key, as a broker tells whoever asks."""
    with Connection(host, port) as connection:
        answer = connection.ask("ApiVersions", 3, ClientSoftwareName="compat", ClientSoftwareVersion="1")
    return {each["ApiKey"]: (each["MinVersion"], each["MaxVersion"]) for each in answer["ApiKeys"]}
