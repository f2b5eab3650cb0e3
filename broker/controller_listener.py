"""The door of the controller: the listeners of controller.listener.names, which have other APIs behind them.

Each API of a controller that differs from the broker's has a file in controller_apis/.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from barnabas.broker.configuration.listeners import Endpoint
from barnabas.broker.connection import Answer, Connection
from barnabas.broker.connection_limits import ConnectionLimits
from barnabas.broker.controller_apis import MODULES
from barnabas.broker.dispatch import Dispatcher
from barnabas.broker.listener import Listener
from barnabas.storage.file_slice import FileSlice

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["ControllerDoor", "controller_addresses"]


class ControllerDoor:
    """What connections of these listeners ask for: all as at the broker's door, but for what is served."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.max_frame_bytes = node.max_frame_bytes
        self.memory = node.memory
        self.connection_limits = ConnectionLimits(node)
        self._dispatcher = Dispatcher(node, "barnabas.broker.controller_apis", MODULES)

    def serve(self, connection: Connection, frame: bytes | bytearray) -> Answer | Coroutine[Any, Any, Answer]:
        return self._dispatcher.serve(connection, frame)

    def wait_for(self, connection: Connection, answer: Coroutine[Any, Any, Answer]) -> None:
        self._node.wait_for(connection, answer)

    def read_cold(self, connection: Connection, part: FileSlice) -> None:
        self._node.read_cold(connection, part)

    def closed(self, connection: Connection, reason: str) -> None:
        self._node.closed(connection, reason)

    def note_refusal_of(self, connection: Connection, reason: str) -> None:
        self._node.note_refusal_of(connection, reason)

    def report_exception(self, what: str, error: BaseException) -> None:
        self._node.report_exception(what, error)

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._node.later(delay_ms, action)

    def note_exhaustion(self, error: OSError) -> None:
        self._node.note_exhaustion(error)


def controller_addresses(advertised: tuple[Endpoint, ...], listeners: list[Listener]) -> list[tuple[str, str, int]]:
    """Name, host and port of what others are told of the controller, when its ports are known."""
    bound = {listener.endpoint.listener: listener.address[1] for listener in listeners}
    return [(each.listener, each.host or "localhost", each.port or bound[each.listener]) for each in advertised]
