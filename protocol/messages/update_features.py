"""UpdateFeatures, API 57: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, message, string, struct


@message(key=57, versions="0-2", flexible="0+")
class UpdateFeaturesRequest(Message):
    timeout_ms: int32 = field(default=60000)
    feature_updates: list[FeatureUpdateKey] = field()
    validate_only: bool = field("1+")


@struct
class FeatureUpdateKey(Struct):
    feature: string = field()
    max_version_level: int16 = field()
    allow_downgrade: bool = field("0")
    upgrade_type: int8 = field("1+", default=1)


@message(key=57, versions="0-2", flexible="0+")
class UpdateFeaturesResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field()
    results: list[UpdatableFeatureResult] = field("0-1", ignorable=True)


@struct
class UpdatableFeatureResult(Struct):
    feature: string = field()
    error_code: int16 = field()
    error_message: string | None = field()
