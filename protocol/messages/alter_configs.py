"""AlterConfigs, API 33: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, message, string, struct


@message(key=33, versions="0-2", flexible="2+")
class AlterConfigsRequest(Message):
    resources: list[AlterConfigsResource] = field()
    validate_only: bool = field()


@struct
class AlterConfigsResource(Struct):
    resource_type: int8 = field()
    resource_name: string = field()
    configs: list[AlterableConfig] = field()


@struct
class AlterableConfig(Struct):
    name: string = field()
    value: string | None = field()


@message(key=33, versions="0-2", flexible="2+")
class AlterConfigsResponse(Message):
    throttle_time_ms: int32 = field()
    responses: list[AlterConfigsResourceResponse] = field()


@struct
class AlterConfigsResourceResponse(Struct):
    error_code: int16 = field()
    error_message: string | None = field()
    resource_type: int8 = field()
    resource_name: string = field()
