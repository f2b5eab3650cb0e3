"""DescribeConfigs, API 32: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, message, string, struct


@message(key=32, versions="1-4", flexible="4+")
class DescribeConfigsRequest(Message):
    resources: list[DescribeConfigsResource] = field()
    include_synonyms: bool = field()
    include_documentation: bool = field("3+")


@struct
class DescribeConfigsResource(Struct):
    resource_type: int8 = field()
    resource_name: string = field()
    configuration_keys: list[string] | None = field()


@message(key=32, versions="1-4", flexible="4+")
class DescribeConfigsResponse(Message):
    throttle_time_ms: int32 = field()
    results: list[DescribeConfigsResult] = field()


@struct
class DescribeConfigsResult(Struct):
    error_code: int16 = field()
    error_message: string | None = field()
    resource_type: int8 = field()
    resource_name: string = field()
    configs: list[DescribeConfigsResourceResult] = field()


@struct
class DescribeConfigsResourceResult(Struct):
    name: string = field()
    value: string | None = field()
    read_only: bool = field()
    config_source: int8 = field(default=-1)
    is_sensitive: bool = field()
    synonyms: list[DescribeConfigsSynonym] = field()
    config_type: int8 = field("3+", ignorable=True)
    documentation: string | None = field("3+", ignorable=True)


@struct
class DescribeConfigsSynonym(Struct):
    name: string = field()
    value: string | None = field()
    source: int8 = field()
