"""SyncGroup, API 14: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct


@message(key=14, versions="0-5", flexible="4+")
class SyncGroupRequest(Message):
    group_id: string = field()
    generation_id: int32 = field()
    member_id: string = field()
    group_instance_id: string | None = field("3+", default=None)
    protocol_type: string | None = field("5+", default=None, ignorable=True)
    protocol_name: string | None = field("5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = field()


@struct
class SyncGroupRequestAssignment(Struct):
    member_id: string = field()
    assignment: bytes = field()


@message(key=14, versions="0-5", flexible="4+")
class SyncGroupResponse(Message):
    throttle_time_ms: int32 = field("1+", ignorable=True)
    error_code: int16 = field()
    protocol_type: string | None = field("5+", default=None, ignorable=True)
    protocol_name: string | None = field("5+", default=None, ignorable=True)
    assignment: bytes = field()
