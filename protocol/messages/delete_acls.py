"""DeleteAcls, API 31: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, message, string, struct


@message(key=31, versions="1-3", flexible="2+")
class DeleteAclsRequest(Message):
    filters: list[DeleteAclsFilter] = field()


@struct
class DeleteAclsFilter(Struct):
    resource_type_filter: int8 = field()
    resource_name_filter: string | None = field()
    pattern_type_filter: int8 = field(default=3)
    principal_filter: string | None = field()
    host_filter: string | None = field()
    operation: int8 = field()
    permission_type: int8 = field()


@message(key=31, versions="1-3", flexible="2+")
class DeleteAclsResponse(Message):
    throttle_time_ms: int32 = field()
    filter_results: list[DeleteAclsFilterResult] = field()


@struct
class DeleteAclsFilterResult(Struct):
    error_code: int16 = field()
    error_message: string | None = field()
    matching_acls: list[DeleteAclsMatchingAcl] = field()


@struct
class DeleteAclsMatchingAcl(Struct):
    error_code: int16 = field()
    error_message: string | None = field()
    resource_type: int8 = field()
    resource_name: string = field()
    pattern_type: int8 = field(default=3)
    principal: string = field()
    host: string = field()
    operation: int8 = field()
    permission_type: int8 = field()
