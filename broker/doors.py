"""The two doors of a node: that of the broker, where clients come in, and that of the controller.

Behind the controller's, the listeners of controller.listener.names, are other APIs; those that differ from the broker's
have a file in controller_apis/. Connections ask both for the same.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import trio

from barnabas.broker import apis, controller_apis
from barnabas.broker.connection import Answer, CloseConnection, Connection
from barnabas.broker.connection_limits import ConnectionLimits
from barnabas.broker.dispatch import Dispatcher
from barnabas.broker.forwarded import FORWARDABLE
from barnabas.storage.file_slice import FileSlice

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["NodeDoor", "broker_door", "controller_door", "forwarded_requests"]


def broker_door(node: Node) -> NodeDoor:
    dispatcher = Dispatcher(
        node, {key: f"apis.{name}" for key, name in apis.MODULES.items()}, forwards=not node.config.is_controller
    )
    return NodeDoor(node, dispatcher, node.connection_limits)


def controller_door(node: Node) -> NodeDoor:
    return NodeDoor(node, Dispatcher(node, controller_apis.MODULES), ConnectionLimits(node))


def forwarded_requests(node: Node) -> Dispatcher:
    """Of those who knocked at another node's door, which passes them on to our controller."""
    modules = {key: name for key, name in controller_apis.MODULES.items() if key in FORWARDABLE}
    return Dispatcher(node, modules)


class NodeDoor:
    """What connections and their listeners ask of the node."""

    def __init__(self, node: Node, dispatcher: Dispatcher, connection_limits: ConnectionLimits) -> None:
        self._node = node
        self.max_frame_bytes = node.max_frame_bytes
        self.memory = node.memory
        self.connection_limits = connection_limits
        self.serve = dispatcher.serve
        self.report_exception = node.report_exception

    # What has to wait, in a task of its own

    def wait_for(self, connection: Connection, answer: Coroutine[Any, Any, Answer]) -> None:
        self._node.start_soon(_answer, connection, answer)

    def read_cold(self, connection: Connection, part: FileSlice) -> None:
        self._node.start_soon(self._read_cold, connection, part)

    async def _read_cold(self, connection: Connection, part: FileSlice) -> None:
        try:
            connection.warmed(await self._node.cold_reads.read(part))
        except OSError as error:
            connection.close(f"{error.strerror or error}")

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._node.start_soon(_later, delay_ms, action)

    # What became of a connection

    def closed(self, connection: Connection, reason: str) -> None:  # noqa: ARG002 - a log line to come
        if self._node.telemetry is not None:
            self._node.telemetry.closed(connection)
        for listener in self._node.all_listeners:
            listener.left(connection)

    def note_refusal_of(self, connection: Connection, reason: str) -> None:
        self._node.warn(f"the connection from {connection.peer_name} is closed: {reason}")

    def note_exhaustion(self, error: OSError) -> None:
        self._node.warn(
            f"no more connections can be accepted: {error.strerror}; raise the limit of open files (ulimit -n)"
        )


async def _answer(connection: Connection, answer: Coroutine[Any, Any, Answer]) -> None:
    try:
        connection.answered(await answer)
    except CloseConnection as error:
        connection.close(str(error))


async def _later(delay_ms: int, action: Callable[[], None]) -> None:
    await trio.sleep(delay_ms / 1000)
    action()
