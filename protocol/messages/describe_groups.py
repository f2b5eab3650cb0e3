"""DescribeGroups, API 15: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct


@message(key=15, versions="0-6", flexible="5+")
class DescribeGroupsRequest(Message):
    groups: list[string] = field()
    include_authorized_operations: bool = field("3+")


@message(key=15, versions="0-6", flexible="5+")
class DescribeGroupsResponse(Message):
    throttle_time_ms: int32 = field("1+", ignorable=True)
    groups: list[DescribedGroup] = field()


@struct
class DescribedGroup(Struct):
    error_code: int16 = field()
    error_message: string | None = field("6+", default=None)
    group_id: string = field()
    group_state: string = field()
    protocol_type: string = field()
    protocol_data: string = field()
    members: list[DescribedGroupMember] = field()
    authorized_operations: int32 = field("3+", default=-2147483648)


@struct
class DescribedGroupMember(Struct):
    member_id: string = field()
    group_instance_id: string | None = field("4+", default=None, ignorable=True)
    client_id: string = field()
    client_host: string = field()
    member_metadata: bytes = field()
    member_assignment: bytes = field()
