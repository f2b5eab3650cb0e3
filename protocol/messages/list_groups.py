"""ListGroups, API 16: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct


@message(key=16, versions="0-5", flexible="3+")
class ListGroupsRequest(Message):
    states_filter: list[string] = field("4+")
    types_filter: list[string] = field("5+")


@message(key=16, versions="0-5", flexible="3+")
class ListGroupsResponse(Message):
    throttle_time_ms: int32 = field("1+", ignorable=True)
    error_code: int16 = field()
    groups: list[ListedGroup] = field()


@struct
class ListedGroup(Struct):
    group_id: string = field()
    protocol_type: string = field()
    group_state: string = field("4+", ignorable=True)
    group_type: string = field("5+", ignorable=True)
