"""GetTelemetrySubscriptions, API 71: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int8, int16, int32, message, string, uuid


@message(key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsRequest(Message):
    client_instance_id: uuid = field()


@message(key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    client_instance_id: uuid = field()
    subscription_id: int32 = field()
    accepted_compression_types: list[int8] = field()
    push_interval_ms: int32 = field()
    telemetry_max_bytes: int32 = field()
    delta_temporality: bool = field()
    requested_metrics: list[string] = field()
