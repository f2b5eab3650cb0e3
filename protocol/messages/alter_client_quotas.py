"""AlterClientQuotas, API 49: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, float64, int16, int32, message, string, struct


@message(key=49, versions="0-1", flexible="1+")
class AlterClientQuotasRequest(Message):
    entries: list[EntryData] = field()
    validate_only: bool = field()


@struct
class EntryData(Struct):
    entity: list[EntityData] = field()
    ops: list[OpData] = field()


@struct
class EntityData(Struct):
    entity_type: string = field()
    entity_name: string | None = field()


@struct
class OpData(Struct):
    key: string = field()
    value: float64 = field()
    remove: bool = field()


@message(key=49, versions="0-1", flexible="1+")
class AlterClientQuotasResponse(Message):
    throttle_time_ms: int32 = field()
    entries: list[ResponseEntryData] = field()


@struct
class ResponseEntryData(Struct):
    error_code: int16 = field()
    error_message: string | None = field()
    entity: list[EntityData] = field()
