"""The smallest client: one connection, one request at a time, in the messages of barnabas.protocol."""

from __future__ import annotations

import socket
from collections import deque
from itertools import count
from types import TracebackType
from typing import Self, TypeVar

from barnabas.protocol.apis import APIS, Api
from barnabas.protocol.frames import FrameReader, decode_response, encode_request
from barnabas.protocol.schema import Message

LARGEST_ANSWER_BYTES = 100_000_000

M = TypeVar("M", bound=Message)


class RawClient:
    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=30)
        self._reader = FrameReader(LARGEST_ANSWER_BYTES)
        self._correlation_ids = count()
        self._asked: deque[tuple[Api, int, int]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def ask(self, request: Message, version: int, answer: type[M]) -> M:
        self.send(request, version)
        return self.receive(answer)

    def send(self, request: Message, version: int) -> None:
        """Without waiting for the answer, which `receive` gives: several at a time come in order."""
        api = APIS[request.__definition__.key]
        correlation_id = next(self._correlation_ids)
        self._socket.sendall(b"".join(encode_request(api, version, correlation_id, "raw", request)))  # type: ignore[arg-type]
        self._asked.append((api, version, correlation_id))

    def receive(self, answer: type[M]) -> M:
        api, version, correlation_id = self._asked.popleft()
        while (frame := self._reader.next_frame()) is None:
            data = self._socket.recv(1 << 20)
            if not data:
                raise ConnectionError(f"closed instead of an answer to {api.name} v{version}")
            self._reader.receive(data)
        answered_id, message = decode_response(api, version, frame)
        assert answered_id == correlation_id
        assert isinstance(message, answer)
        return message
