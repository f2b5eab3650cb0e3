"""DeleteGroups, API 42: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct


@message(key=42, versions="0-2", flexible="2+")
class DeleteGroupsRequest(Message):
    groups_names: list[string] = field()


@message(key=42, versions="0-2", flexible="2+")
class DeleteGroupsResponse(Message):
    throttle_time_ms: int32 = field()
    results: list[DeletableGroupResult] = field()


@struct
class DeletableGroupResult(Struct):
    group_id: string = field()
    error_code: int16 = field()
