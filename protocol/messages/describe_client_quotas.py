"""DescribeClientQuotas, API 48: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, float64, int8, int16, int32, message, string, struct


@message(key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasRequest(Message):
    components: list[ComponentData] = field()
    strict: bool = field()


@struct
class ComponentData(Struct):
    entity_type: string = field()
    match_type: int8 = field()
    match: string | None = field()


@message(key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field()
    entries: list[EntryData] | None = field()


@struct
class EntryData(Struct):
    entity: list[EntityData] = field()
    values: list[ValueData] = field()


@struct
class EntityData(Struct):
    entity_type: string = field()
    entity_name: string | None = field()


@struct
class ValueData(Struct):
    key: string = field()
    value: float64 = field()
