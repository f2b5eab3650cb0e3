"""What a fault does to a request that meets it."""

from __future__ import annotations

from types import CoroutineType
from typing import TYPE_CHECKING, Any

import trio

from barnabas.broker.connection import CloseConnection
from barnabas.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.broker.call import Call
    from barnabas.broker.connection import Connection
    from barnabas.broker.dispatch import Handler, Response
    from barnabas.broker.node import Node
    from barnabas.protocol.schema import Message
    from barnabas.testing.faults import Effect, Suits

__all__ = ["can_fail_with", "carried_out", "delay", "drop", "fail", "ignore", "throttle", "until_gone"]


async def until_gone(connection: Connection, event: trio.Event | None = None, seconds: float = float("inf")) -> None:
    """For the event, or so long. Where the client goes meanwhile nobody is answered any more."""
    gone = False
    with trio.move_on_after(seconds) as scope:

        def leave() -> None:
            nonlocal gone
            gone = True
            scope.cancel()

        connection.on_gone = leave
        try:
            await (event.wait() if event is not None else trio.sleep_forever())
        finally:
            connection.on_gone = None
    if gone:
        raise CloseConnection("the client did not wait for the answer")


async def carried_out(handler: Handler, node: Node, call: Call, request: Message) -> Response:
    answer: Any = handler(node, call, request)
    if type(answer) is CoroutineType:
        answer = await answer
    return answer  # type: ignore[no-any-return]


def fail(code: ErrorCode, topic: str | None) -> Effect:
    async def effect(node: Node, call: Call, request: Any, _handler: Handler) -> Response:
        answer: Any
        if call.api.name == "Produce":
            from barnabas.testing.refused_parts import refuse_produce

            answer = refuse_produce(node, call, request, code, topic)
        elif call.api.name == "Fetch":
            from barnabas.testing.refused_parts import refuse_fetch

            answer = refuse_fetch(node, call, request, code, topic)
        else:
            from barnabas.testing.refusals import answer_with

            answer = answer_with(node, call, request, code)
        return await answer if type(answer) is CoroutineType else answer  # type: ignore[no-any-return]

    return effect


def can_fail_with(code: ErrorCode) -> Suits:
    def can(call: Call, request: Any) -> bool:
        asks_for_brokers = call.api.name == "Metadata" and call.version > 0 and request.topics == []
        return not asks_for_brokers or code == ErrorCode.REBOOTSTRAP_REQUIRED

    return can


def delay(seconds: float, *, after_appending: bool) -> Effect:
    if not seconds >= 0:
        raise ValueError(f"seconds={seconds!r}: nothing is done before it is asked for")

    async def effect(node: Node, call: Call, request: Message, handler: Handler) -> Response:
        if after_appending:
            answer = await carried_out(handler, node, call, request)
            await until_gone(call.connection, seconds=seconds)
            return answer
        await until_gone(call.connection, seconds=seconds)
        return await carried_out(handler, node, call, request)

    return effect


def ignore() -> Effect:
    async def effect(_node: Node, call: Call, _request: Message, _handler: Handler) -> Response:
        await until_gone(call.connection)
        raise AssertionError("nobody waits for ever")

    return effect


def drop(*, after_appending: bool) -> Effect:
    async def effect(node: Node, call: Call, request: Message, handler: Handler) -> Response:
        if after_appending:
            await carried_out(handler, node, call, request)
        when = "after it was carried out" if after_appending else "before it was carried out"
        raise CloseConnection(f"{call.api.name} was cut {when}, as the test asked")

    return effect


def throttle(milliseconds: int) -> Effect:
    """As a quota: the answer comes at once and says how long, and nothing more is read for that time."""
    if not isinstance(milliseconds, int) or milliseconds < 0:
        raise ValueError(f"milliseconds={milliseconds!r}: Kafka's answers have room for a whole number of them")

    async def effect(node: Node, call: Call, request: Message, handler: Handler) -> Response:
        answer: Any = await carried_out(handler, node, call, request)
        if hasattr(answer, "throttle_time_ms"):
            answer.throttle_time_ms = max(answer.throttle_time_ms, milliseconds)
        if not call.connection.muted:
            call.connection.muted = True
            node.start_soon(_unmute_later, call.connection, milliseconds)
        return answer  # type: ignore[no-any-return]

    return effect


async def _unmute_later(connection: Connection, milliseconds: int) -> None:
    await trio.sleep(milliseconds / 1000)
    connection.unmute()
