"""Heartbeat, API 12: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int16, int32, message, string


@message(key=12, versions="0-4", flexible="4+")
class HeartbeatRequest(Message):
    group_id: string = field()
    generation_id: int32 = field()
    member_id: string = field()
    group_instance_id: string | None = field("3+", default=None)


@message(key=12, versions="0-4", flexible="4+")
class HeartbeatResponse(Message):
    throttle_time_ms: int32 = field("1+", ignorable=True)
    error_code: int16 = field()
