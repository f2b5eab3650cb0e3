"""JoinGroup, API 11: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct


@message(key=11, versions="0-9", flexible="6+")
class JoinGroupRequest(Message):
    group_id: string = field()
    session_timeout_ms: int32 = field()
    rebalance_timeout_ms: int32 = field("1+", default=-1, ignorable=True)
    member_id: string = field()
    group_instance_id: string | None = field("5+", default=None)
    protocol_type: string = field()
    protocols: list[JoinGroupRequestProtocol] = field()
    reason: string | None = field("8+", default=None, ignorable=True)


@struct
class JoinGroupRequestProtocol(Struct):
    name: string = field()
    metadata: bytes = field()


@message(key=11, versions="0-9", flexible="6+")
class JoinGroupResponse(Message):
    throttle_time_ms: int32 = field("2+", ignorable=True)
    error_code: int16 = field()
    generation_id: int32 = field(default=-1)
    protocol_type: string | None = field("7+", default=None, ignorable=True)
    protocol_name: string | None = field(nullable="7+")
    leader: string = field()
    skip_assignment: bool = field("9+")
    member_id: string = field()
    members: list[JoinGroupResponseMember] = field()


@struct
class JoinGroupResponseMember(Struct):
    member_id: string = field()
    group_instance_id: string | None = field("5+", default=None, ignorable=True)
    metadata: bytes = field()
