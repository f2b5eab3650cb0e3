"""The links between the nodes of a test's cluster: cut, one way or both, and slow, whenever a test says so.

What travels on a link that is cut is not lost but held back, as by a network that comes back later: a node that waits
longer than its own timeouts gives up by itself. Clients' connections are no links, and are left alone.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from itertools import product

import trio

from barnabas.broker.network import Network

__all__ = ["LinkedNetwork", "Links"]

Link = tuple[int, int]
"""From one node to another."""


class Links:
    """Shared by the loops of all nodes; may be told in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ports: dict[int, int] = {}
        self._cut: set[Link] = set()
        self._delays_s: dict[Link, float] = {}
        self._waiting: dict[trio.Event, trio.lowlevel.TrioToken] = {}

    def add_port(self, port: int, node_id: int) -> None:
        self._ports[port] = node_id

    def node_at(self, port: int) -> int | None:
        return self._ports.get(port)

    # What tests say

    def cut(self, some: Iterable[int], others: Iterable[int], *, one_way: bool) -> None:
        """Nothing gets from the first to the others; unless `one_way`, nothing back either."""
        links = set(product(some, others))
        with self._lock:
            self._cut |= links if one_way else links | {(there, here) for here, there in links}

    def slow(self, some: Iterable[int], others: Iterable[int], seconds: float) -> None:
        """What is sent between them arrives so much later, in either direction."""
        links = set(product(some, others))
        with self._lock:
            for here, there in links:
                self._delays_s[here, there] = self._delays_s[there, here] = seconds

    def heal(self) -> None:
        """All links are whole and fast."""
        with self._lock:
            self._cut.clear()
            self._delays_s.clear()
            waiting, self._waiting = self._waiting, {}
        for event, token in waiting.items():
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(event.set)

    # What nodes meet

    async def passes(self, link: Link) -> None:
        """Return when what is on its way there has arrived."""
        while self._is_cut(link):
            event = trio.Event()
            with self._lock:
                self._waiting[event] = trio.lowlevel.current_trio_token()
            try:
                if self._is_cut(link):
                    await event.wait()
            finally:
                with self._lock:
                    self._waiting.pop(event, None)
        delay_s = self._delays_s.get(link)
        if delay_s:
            await trio.sleep(delay_s)

    def _is_cut(self, link: Link) -> bool:
        with self._lock:
            return link in self._cut


class LinkedNetwork(Network):
    """Of one node."""

    def __init__(self, node_id: int, links: Links) -> None:
        self._node_id = node_id
        self._links = links

    async def dial(self, host: str, port: int) -> trio.abc.Stream:
        there = self._links.node_at(port)
        if there is None or there == self._node_id:
            return await super().dial(host, port)
        await self._links.passes((self._node_id, there))
        stream = await super().dial(host, port)
        return _LinkedStream(stream, self._links.passes, (self._node_id, there))


class _LinkedStream(trio.abc.Stream):
    def __init__(self, stream: trio.abc.Stream, passes: Callable[[Link], Awaitable[None]], link: Link) -> None:
        self._stream = stream
        self._passes = passes
        self._there = link
        self._back = link[::-1]

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._passes(self._there)
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        data = await self._stream.receive_some(max_bytes)
        await self._passes(self._back)
        return data

    async def aclose(self) -> None:
        await self._stream.aclose()
