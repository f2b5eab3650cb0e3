"""FindCoordinator, API 10: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, message, string, struct


@message(key=10, versions="0-6", flexible="3+")
class FindCoordinatorRequest(Message):
    key: string = field("0-3")
    key_type: int8 = field("1+")
    coordinator_keys: list[string] = field("4+")


@message(key=10, versions="0-6", flexible="3+")
class FindCoordinatorResponse(Message):
    throttle_time_ms: int32 = field("1+", ignorable=True)
    error_code: int16 = field("0-3")
    error_message: string | None = field("1-3", ignorable=True)
    node_id: int32 = field("0-3")
    host: string = field("0-3")
    port: int32 = field("0-3")
    coordinators: list[Coordinator] = field("4+")


@struct
class Coordinator(Struct):
    key: string = field("4+")
    node_id: int32 = field("4+")
    host: string = field("4+")
    port: int32 = field("4+")
    error_code: int16 = field("4+")
    error_message: string | None = field("4+", ignorable=True)
