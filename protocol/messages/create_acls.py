"""CreateAcls, API 30: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, message, string, struct


@message(key=30, versions="1-3", flexible="2+")
class CreateAclsRequest(Message):
    creations: list[AclCreation] = field()


@struct
class AclCreation(Struct):
    resource_type: int8 = field()
    resource_name: string = field()
    resource_pattern_type: int8 = field(default=3)
    principal: string = field()
    host: string = field()
    operation: int8 = field()
    permission_type: int8 = field()


@message(key=30, versions="1-3", flexible="2+")
class CreateAclsResponse(Message):
    throttle_time_ms: int32 = field()
    results: list[AclCreationResult] = field()


@struct
class AclCreationResult(Struct):
    error_code: int16 = field()
    error_message: string | None = field()
