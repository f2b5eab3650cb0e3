"""ListConfigResources, API 74: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, message, string, struct


@message(key=74, versions="0-1", flexible="0+")
class ListConfigResourcesRequest(Message):
    resource_types: list[int8] = field("1+")


@message(key=74, versions="0-1", flexible="0+")
class ListConfigResourcesResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    config_resources: list[ConfigResource] = field()


@struct
class ConfigResource(Struct):
    resource_name: string = field()
    resource_type: int8 = field("1+", default=16, ignorable=True)
