"""Envelope, version 0: a broker passes on what a client asked it, and says who the client is.

It is answered as if that client had asked here itself, and the answer goes into the envelope's. UNSUPPORTED_VERSION is
for the broker alone: it closes its client's connection, who then looks anew what there is.
"""

from __future__ import annotations

import socket
from struct import Struct, error
from typing import TYPE_CHECKING, cast

from barnabas.broker.call import Call
from barnabas.broker.connection import CloseConnection, Connection
from barnabas.broker.forwarded import FORWARDABLE, ForwardedClient
from barnabas.protocol.apis import APIS
from barnabas.protocol.codec import decode_from
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from barnabas.protocol.records.principal import DefaultPrincipalData

if TYPE_CHECKING:
    from barnabas.broker.node import Node

_SIZE = Struct(">i")
_VERSION = Struct(">h")
_REQUEST_START = Struct(">hhi")
_ADDRESSES = {4: socket.AF_INET, 16: socket.AF_INET6}


async def handle(node: Node, call: Call, request: EnvelopeRequest) -> EnvelopeResponse:
    client = ForwardedClient(
        _principal(request.request_principal), _address(request.client_host_address), call.connection.listener
    )
    _check_forwardable(node, request.request_data)
    frame = _SIZE.pack(len(request.request_data)) + request.request_data
    try:
        answer = node.forwarded_requests.serve(cast(Connection, client), frame)
        chunks = await answer if answer is not None and not isinstance(answer, list) else answer
    except MalformedFrame as damaged:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, str(damaged)) from None
    except CloseConnection as failed:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(failed)) from None
    assert chunks is not None
    return EnvelopeResponse(response_data=b"".join(chunks)[_SIZE.size :])  # type: ignore[arg-type] # no parts of files


def refused(_call: Call, _request: EnvelopeRequest, refusal: KafkaError) -> EnvelopeResponse:
    return EnvelopeResponse(error_code=refusal.code)


def _principal(data: bytes | None) -> str:
    """Its name, as Kafka's own builder of principals writes it."""
    try:
        (version,) = _VERSION.unpack_from(data or b"")
        principal, _ = decode_from(DefaultPrincipalData, version, data or b"", _VERSION.size)
    except (error, MalformedFrame, ValueError, KeyError) as unreadable:
        raise KafkaError(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, str(unreadable)) from None
    return principal.name


def _address(data: bytes) -> str:
    family = _ADDRESSES.get(len(data))
    if family is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"An address does not have {len(data)} bytes.")
    return socket.inet_ntop(family, data)


def _check_forwardable(node: Node, data: bytes) -> None:
    try:
        key, version, _ = _REQUEST_START.unpack_from(data)
    except error:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "The envelope has no request.") from None
    if key not in APIS:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"There is no API {key}.")
    if key not in FORWARDABLE:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{APIS[key].name} is not passed on.")
    if not node.forwarded_requests.serves(key, version):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{APIS[key].name} is not served in version {version}.")
