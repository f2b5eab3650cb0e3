"""ApiVersions, API 18: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct


@message(key=18, versions="0-4", flexible="3+")
class ApiVersionsRequest(Message):
    client_software_name: string = field("3+", ignorable=True)
    client_software_version: string = field("3+", ignorable=True)


@message(key=18, versions="0-4", flexible="3+")
class ApiVersionsResponse(Message):
    error_code: int16 = field()
    api_keys: list[ApiVersion] = field()
    throttle_time_ms: int32 = field("1+", ignorable=True)
    supported_features: list[SupportedFeatureKey] = field("3+", tag=0, ignorable=True)
    finalized_features_epoch: int64 = field("3+", default=-1, tag=1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = field("3+", tag=2, ignorable=True)
    zk_migration_ready: bool = field("3+", tag=3, ignorable=True)


@struct
class ApiVersion(Struct):
    api_key: int16 = field()
    min_version: int16 = field()
    max_version: int16 = field()


@struct
class SupportedFeatureKey(Struct):
    name: string = field("3+")
    min_version: int16 = field("3+")
    max_version: int16 = field("3+")


@struct
class FinalizedFeatureKey(Struct):
    name: string = field("3+")
    max_version_level: int16 = field("3+")
    min_version_level: int16 = field("3+")
