"""Envelope, API 58: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int16, message


@message(key=58, versions="0", flexible="0+")
class EnvelopeRequest(Message):
    request_data: bytes = field()
    request_principal: bytes | None = field()
    client_host_address: bytes = field()


@message(key=58, versions="0", flexible="0+")
class EnvelopeResponse(Message):
    response_data: bytes | None = field(default=None)
    error_code: int16 = field()
