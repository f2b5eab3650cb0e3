"""What a client asks of this broker and the controller decides: passed on in an Envelope, with who asks and from where,
and answered with what comes back, as it comes.

Only a broker whose controller is another node does so; in one that is its own controller the API's own file decides.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.connection import CloseConnection
from barnabas.protocol.codec import encode
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.frames import decode_response, encode_request
from barnabas.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from barnabas.protocol.records.principal import DefaultPrincipalData
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["FORWARDED_IN_PART", "forward"]

FORWARDED_IN_PART = frozenset({44})
"""APIs of which a broker does something itself: their own files pass on the rest."""

_SIZE_BYTES = 4
_PRINCIPAL_VERSION = 0
_ANYBODY = DefaultPrincipalData(type="User", name="ANONYMOUS", token_authenticated=False)


async def forward(node: Node, call: Call, request: Message) -> Message:
    """The controller's answer to that request, as its own."""
    frame = b"".join(encode_request(call.api, call.version, call.correlation_id, call.client_id, request))  # type: ignore[arg-type] # requests have no parts of files
    envelope = EnvelopeRequest(
        request_data=frame[_SIZE_BYTES:],
        request_principal=_PRINCIPAL_VERSION.to_bytes(2, "big") + encode(_ANYBODY, _PRINCIPAL_VERSION),
        client_host_address=_address(call.connection.peer[0]),
    )
    answer = await node.controller_link.ask(envelope, EnvelopeResponse)
    if answer.error_code or answer.response_data is None:
        code = ErrorCode(answer.error_code)
        raise CloseConnection(f"the controller refuses {call.api.name}, which was passed on to it: {code.name}")
    _, response = decode_response(call.api, call.version, bytes(_SIZE_BYTES) + answer.response_data)
    return response


def _address(host: str) -> bytes:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).packed
    except ValueError:
        return ipaddress.ip_address("127.0.0.1").packed  # a client within this process
