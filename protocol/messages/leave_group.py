"""LeaveGroup, API 13: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct


@message(key=13, versions="0-5", flexible="4+")
class LeaveGroupRequest(Message):
    group_id: string = field()
    member_id: string = field("0-2")
    members: list[MemberIdentity] = field("3+")


@struct
class MemberIdentity(Struct):
    member_id: string = field("3+")
    group_instance_id: string | None = field("3+", default=None)
    reason: string | None = field("5+", default=None, ignorable=True)


@message(key=13, versions="0-5", flexible="4+")
class LeaveGroupResponse(Message):
    throttle_time_ms: int32 = field("1+", ignorable=True)
    error_code: int16 = field()
    members: list[MemberResponse] = field("3+")


@struct
class MemberResponse(Struct):
    member_id: string = field("3+")
    group_instance_id: string | None = field("3+")
    error_code: int16 = field("3+")
