"""OffsetDelete, API 47: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct


@message(key=47, versions="0", flexible="none")
class OffsetDeleteRequest(Message):
    group_id: string = field()
    topics: list[OffsetDeleteRequestTopic] = field()


@struct
class OffsetDeleteRequestTopic(Struct):
    name: string = field()
    partitions: list[OffsetDeleteRequestPartition] = field()


@struct
class OffsetDeleteRequestPartition(Struct):
    partition_index: int32 = field()


@message(key=47, versions="0", flexible="none")
class OffsetDeleteResponse(Message):
    error_code: int16 = field()
    throttle_time_ms: int32 = field()
    topics: list[OffsetDeleteResponseTopic] = field()


@struct
class OffsetDeleteResponseTopic(Struct):
    name: string = field()
    partitions: list[OffsetDeleteResponsePartition] = field()


@struct
class OffsetDeleteResponsePartition(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
