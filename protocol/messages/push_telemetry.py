"""PushTelemetry, API 72: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int8, int16, int32, message, uuid


@message(key=72, versions="0", flexible="0+")
class PushTelemetryRequest(Message):
    client_instance_id: uuid = field()
    subscription_id: int32 = field()
    terminating: bool = field()
    compression_type: int8 = field()
    metrics: bytes = field()


@message(key=72, versions="0", flexible="0+")
class PushTelemetryResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
