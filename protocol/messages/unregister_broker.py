"""UnregisterBroker, API 64: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int16, int32, message, string


@message(key=64, versions="0", flexible="0+")
class UnregisterBrokerRequest(Message):
    broker_id: int32 = field()


@message(key=64, versions="0", flexible="0+")
class UnregisterBrokerResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field()
