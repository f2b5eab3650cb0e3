"""Around the handler of every API: each request is written down, meets the faults that are set, and waits while the
broker is paused. One that meets nothing is served as fast as ever."""

from __future__ import annotations

import time
from collections.abc import Coroutine
from types import CoroutineType
from typing import TYPE_CHECKING, Any

import trio

from barnabas.broker.connection import CloseConnection
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.testing.effects import carried_out, until_gone
from barnabas.testing.faults import Fault, Faults
from barnabas.testing.history import History, Request
from barnabas.testing.message_parts import error_codes, group_of, topics_of

if TYPE_CHECKING:
    from barnabas.broker.call import Call
    from barnabas.broker.dispatch import Handler, Response
    from barnabas.broker.node import Node
    from barnabas.protocol.schema import Message

__all__ = ["Interception"]


class Interception:
    def __init__(self, faults: Faults, history: History) -> None:
        self._faults = faults
        self._history = history
        self._resumed: trio.Event | None = None
        """While it is paused."""

    # The whole broker

    @property
    def is_paused(self) -> bool:
        return self._resumed is not None

    def pause(self) -> None:
        if self._resumed is None:
            self._resumed = trio.Event()

    def resume(self) -> None:
        resumed, self._resumed = self._resumed, None
        if resumed is not None:
            resumed.set()

    # Requests

    def around(self, handler: Handler) -> Handler:
        def intercepted(node: Node, call: Call, request: Any) -> Response | Coroutine[Any, Any, Response]:
            began_ns = time.monotonic_ns()
            seen = Request(
                node.clock.now_ms(),
                call.client_id,
                call.connection.peer,
                call.api.name,
                call.version,
                topics_of(request, node),
                group_of(request),
            )
            self._history.add(seen)
            fault = self._faults.next_for(node, call, request) if self._faults else None
            if fault is not None or self._resumed is not None:
                troubled = self._in_trouble(handler, fault, seen, node, call, request)
                return self._ended(troubled, seen, began_ns, node, call)
            try:
                answer = handler(node, call, request)
            except BaseException as error:
                _note_failure(seen, error, began_ns)
                raise
            if type(answer) is CoroutineType:
                return self._ended(answer, seen, began_ns, node, call)
            _note(seen, answer, began_ns, node)
            return answer

        return intercepted

    async def _ended(
        self, answer: Coroutine[Any, Any, Response], seen: Request, began_ns: int, node: Node, call: Call
    ) -> Response:
        try:
            response = await answer
            await self._until_resumed(call)
        except BaseException as error:
            _note_failure(seen, error, began_ns)
            raise
        _note(seen, response, began_ns, node)
        return response

    async def _until_resumed(self, call: Call) -> None:
        while self._resumed is not None:
            await until_gone(call.connection, self._resumed)

    async def _in_trouble(
        self, handler: Handler, fault: Fault | None, seen: Request, node: Node, call: Call, request: Message
    ) -> Response:
        await self._until_resumed(call)
        if fault is None:
            return await carried_out(handler, node, call, request)
        seen.fault = fault.what
        return await fault.effect(node, call, request, handler)


def _note(seen: Request, response: Any, began_ns: int, node: Node) -> None:
    seen.duration_ms = (time.monotonic_ns() - began_ns) / 1_000_000
    if response is None:
        seen.outcome = "no answer wanted"
        return
    seen.outcome = "answered"
    codes = error_codes(response)
    if codes:
        seen.errors = tuple(sorted(ErrorCode(code).name for code in codes))
    if not seen.topics:
        # A Fetch of a session names only what is new; its answer, what there is news of.
        seen.topics = topics_of(response, node)


def _note_failure(seen: Request, error: BaseException, began_ns: int) -> None:
    seen.duration_ms = (time.monotonic_ns() - began_ns) / 1_000_000
    if isinstance(error, KafkaError):
        seen.outcome, seen.errors = "answered", (error.code.name,)
    elif isinstance(error, CloseConnection | trio.Cancelled):
        seen.outcome = str(error) or "cut"
    else:
        seen.outcome = f"failed: {error!r}"
