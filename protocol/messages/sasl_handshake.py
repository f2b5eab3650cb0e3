"""SaslHandshake, API 17: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int16, message, string


@message(key=17, versions="0-1", flexible="none")
class SaslHandshakeRequest(Message):
    mechanism: string = field()


@message(key=17, versions="0-1", flexible="none")
class SaslHandshakeResponse(Message):
    error_code: int16 = field()
    mechanisms: list[string] = field()
