"""What a client would ask of the broker, asked in its loop without a connection: the same files of broker/apis answer.

No fault that a test has set meets these requests, and they are not among those that the broker saw.
"""

from __future__ import annotations

from importlib import import_module
from inspect import isawaitable
from typing import TYPE_CHECKING, TypeVar, cast

from barnabas.broker.apis import MODULES
from barnabas.broker.call import Call
from barnabas.broker.forwarded import FORWARDABLE
from barnabas.protocol.apis import APIS

if TYPE_CHECKING:
    from barnabas.broker.connection import Connection
    from barnabas.broker.node import Node
    from barnabas.protocol.schema import Message

__all__ = ["CLIENT_ID", "ask"]

CLIENT_ID = "barnabas.testing"

Answer = TypeVar("Answer", bound="Message")


class _NoConnection:
    """All that an API asks of one."""

    listener = "PLAINTEXT"
    peer = local = ("127.0.0.1", 0)
    address = "127.0.0.1"
    client = (CLIENT_ID, "1")
    on_gone = None
    throttle_ms = 0


async def ask(node: Node, request: Message, answer: type[Answer], version: int | None = None) -> Answer:
    """Of the newest version, if nothing else is said."""
    api = APIS[request.__definition__.key]
    if api.key in FORWARDABLE and not node.config.is_controller:
        return await node.controller_link.ask(request, answer)
    connection = cast("Connection", _NoConnection())
    call = Call(api, api.last_stable if version is None else version, 0, CLIENT_ID, connection, 0)
    response = import_module(f"barnabas.broker.apis.{MODULES[api.key]}").handle(node, call, request)
    if isawaitable(response):
        response = await response
    assert isinstance(response, answer)
    return response
