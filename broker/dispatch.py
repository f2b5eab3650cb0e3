"""From a frame to the file of its API, and from what that returns to the frame of the answer.

A handler is `handle(node, call, request)` in apis/NAME.py. It returns the response; or, if that has to wait, the
coroutine that will return it, which gets a task of its own; or None where the client expects nothing. A handler that
never waits is a plain function, one that always does an async one. Where it raises KafkaError, `refused(call, request,
error)` of the same file makes the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from importlib import import_module
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from barnabas.broker.call import Call
from barnabas.broker.connection import Answer, CloseConnection, Connection
from barnabas.broker.forwarded import FORWARDABLE
from barnabas.broker.forwarding import FORWARDED_IN_PART, forward
from barnabas.protocol.apis import API_VERSIONS, APIS, Api
from barnabas.protocol.codec import UnencodableMessage
from barnabas.protocol.errors import KafkaError, MalformedFrame
from barnabas.protocol.frames import UnsupportedRequest, decode_request, encode_response, unsupported_api_versions
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Dispatcher", "Handler", "Response"]

Response = Message | None
Handler = Callable[["Node", Call, Any], Response | Coroutine[Any, Any, Response]]


class Dispatcher:
    def __init__(self, node: Node, modules: Mapping[int, str], *, forwards: bool = False) -> None:
        """`modules` are the files of all APIs that are answered, by their keys, as names below barnabas.broker. What
        the controller decides is passed on to it where this node `forwards`."""
        self._forwards = forwards
        self._node = node
        self._modules = {key: f"barnabas.broker.{name}" for key, name in modules.items()}
        self._spoken: Mapping[int, Api] = {key: APIS[key] for key in modules}
        self._handlers: dict[int, Handler] = {}

    def serves(self, key: int, version: int) -> bool:
        return key in self._spoken and self._spoken[key].supports(version)

    def serve(self, connection: Connection, frame: bytes | bytearray) -> Answer | Coroutine[Any, Any, Answer]:
        try:
            request = decode_request(frame, self._spoken)
        except UnsupportedRequest as error:
            if error.api_key == API_VERSIONS:
                return unsupported_api_versions(error.correlation_id)
            raise CloseConnection(str(error)) from None
        header = request.header
        api = request.api
        call = Call(
            api, header.request_api_version, header.correlation_id, header.client_id, connection, len(frame) - 4
        )
        throttles = self._node.throttles
        if throttles is not None:
            throttles.begin()
        handler = self._handlers.get(api.key) or self._load(api.key)
        try:
            response = handler(self._node, call, request.message)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this request's and no other's
            response = self._failed(call, request.message, error)
        if type(response) is CoroutineType:
            if throttles is not None:
                throttles.wait(call)
            return self._finish(call, request.message, response)
        return self._encoded(call, response)  # type: ignore[arg-type] # it is no coroutine

    async def _finish(self, call: Call, request: Message, waiting: Coroutine[Any, Any, Response]) -> Answer:
        try:
            response = await waiting
        except Exception as error:  # noqa: BLE001 - as above
            response = self._failed(call, request, error)
        return self._encoded(call, response)

    def _encoded(self, call: Call, response: Response) -> Answer:
        throttles = self._node.throttles
        if throttles is not None:
            throttles.end(call, response)
        if response is None:
            return None
        try:
            return encode_response(call.api, call.version, call.correlation_id, response)
        except UnencodableMessage as error:
            raise self._failure(call, error) from None

    def _failed(self, call: Call, request: Message, error: Exception) -> Response:
        """A request that is refused as a whole has its API's own answer for that. Anything else means that we are
        broken, and then nothing is answered that a client might take for a promise: it may have been appended."""
        if isinstance(error, CloseConnection | MalformedFrame):
            raise error
        if isinstance(error, KafkaError):
            refused = getattr(import_module(self._modules[call.api.key]), "refused", None)
            if refused is not None:
                response: Response = refused(call, request, error)
                return response
        raise self._failure(call, error) from None

    def _failure(self, call: Call, error: Exception) -> CloseConnection:
        self._node.report_failure(call, error)
        return CloseConnection(f"{call.api.name} failed; the broker's log says why")

    def _load(self, key: int) -> Handler:
        passed_on = self._forwards and key in FORWARDABLE and key not in FORWARDED_IN_PART
        handler: Handler = forward if passed_on else import_module(self._modules[key]).handle
        if self._node.around_handlers is not None:
            handler = self._node.around_handlers(handler)
        self._handlers[key] = handler
        return handler
