"""ControllerRegistration, API 70: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct, uint16, uuid


@message(key=70, versions="0", flexible="0+")
class ControllerRegistrationRequest(Message):
    controller_id: int32 = field()
    incarnation_id: uuid = field()
    zk_migration_ready: bool = field()
    listeners: list[Listener] = field()
    features: list[Feature] = field()


@struct
class Listener(Struct):
    name: string = field()
    host: string = field()
    port: uint16 = field()
    security_protocol: int16 = field()


@struct
class Feature(Struct):
    name: string = field()
    min_supported_version: int16 = field()
    max_supported_version: int16 = field()


@message(key=70, versions="0", flexible="0+")
class ControllerRegistrationResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field()
