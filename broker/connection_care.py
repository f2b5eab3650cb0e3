"""What is looked after from time to time: connections that do nothing, are too many, or keep others waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["look_after_connections"]

ROUNDS = 8
"""Within one of so many parts of its time an idle connection is found."""

_OFTEN_S = 1.0


async def look_after_connections(node: Node) -> None:
    idle_ms = node.config.connections_max_idle_ms
    round_s = max(idle_ms / 1000 / ROUNDS, 0.01) if idle_ms >= 0 else float("inf")
    next_round_s = trio.current_time() + round_s
    while True:
        await trio.sleep(min(_OFTEN_S, round_s))
        node.memory.look(node.clock.steady.now_ms())
        close_surplus(node)
        if trio.current_time() >= next_round_s:
            next_round_s = trio.current_time() + round_s
            close_idle(node, idle_ms)


def close_idle(node: Node, idle_ms: int) -> None:
    for listener in node.all_listeners:
        for connection in list(listener.connections):
            if connection.is_fresh:
                connection.is_fresh = False
                connection.idle_rounds = 0
                continue
            connection.idle_rounds += 1
            if connection.idle_rounds >= ROUNDS:
                connection.close(f"nothing was heard of it for {idle_ms} ms")


def close_surplus(node: Node) -> None:
    """Those first that have been silent for longest."""
    surplus = node.connection_limits.surplus()
    if not surplus:
        return
    unprotected = [
        connection
        for listener in node.listeners
        for connection in listener.connections
        if not node.connection_limits.is_protected(connection)
    ]
    unprotected.sort(key=lambda connection: (not connection.is_fresh, connection.idle_rounds), reverse=True)
    for connection in unprotected[:surplus]:
        connection.close("there are more connections than max.connections allows")
