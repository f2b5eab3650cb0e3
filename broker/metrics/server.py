"""A small HTTP server for one page: /metrics. What is asked in any other way is told so, and nobody is waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from barnabas.broker.metrics.collecting import collect
from barnabas.broker.metrics.exposition import exposed

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["MetricsServer"]

PATIENCE_S = 5
LARGEST_HEAD_BYTES = 8192
MOST_CONNECTIONS = 16
"""More are made to wait: each answer is looked up anew."""

_TEXT = "text/plain; charset=utf-8"
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class MetricsServer:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._listeners: list[trio.SocketListener] = []
        self._room = trio.CapacityLimiter(MOST_CONNECTIONS)

    @property
    def address(self) -> tuple[str, int] | None:
        if not self._listeners:
            return None
        host, port = self._listeners[0].socket.getsockname()[:2]
        return host, port

    async def open(self, nursery: trio.Nursery) -> None:
        """Where the configuration says; nothing where it does not."""
        place = self._node.config.barnabas_metrics_listen
        if place:
            host, _, port = place.rpartition(":")
            self._listeners = await trio.open_tcp_listeners(int(port), host=host.strip("[]") or None)
            nursery.start_soon(trio.serve_listeners, self._serve, self._listeners)

    async def _serve(self, stream: trio.SocketStream) -> None:
        async with self._room, stream:
            with trio.move_on_after(PATIENCE_S):
                try:
                    head = await _head(stream)
                    if head is not None:
                        await stream.send_all(self._answer(head))
                except trio.BrokenResourceError:
                    return

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return _response("405 Method Not Allowed", _TEXT, b"Write GET /metrics.\n")
        if path != b"/metrics":
            return _response("404 Not Found", _TEXT, b"There is only /metrics.\n")
        body = exposed(collect(self._node))
        whole = _response("200 OK", _PROMETHEUS, body)
        return whole if method == b"GET" else whole[: len(whole) - len(body)]


async def _head(stream: trio.SocketStream) -> bytes | None:
    """Up to the empty line; None for who leaves before it, or sends too much."""
    head = b""
    while b"\r\n\r\n" not in head:
        data = await stream.receive_some(LARGEST_HEAD_BYTES)
        head += data
        if not data or len(head) > LARGEST_HEAD_BYTES:
            return None
    return head


def _response(status: str, kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
