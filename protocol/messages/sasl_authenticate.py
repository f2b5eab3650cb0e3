"""SaslAuthenticate, API 36: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int16, int64, message, string


@message(key=36, versions="0-2", flexible="2+")
class SaslAuthenticateRequest(Message):
    auth_bytes: bytes = field()


@message(key=36, versions="0-2", flexible="2+")
class SaslAuthenticateResponse(Message):
    error_code: int16 = field()
    error_message: string | None = field()
    auth_bytes: bytes = field()
    session_lifetime_ms: int64 = field("1+", ignorable=True)
