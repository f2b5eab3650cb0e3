"""AlterShareGroupOffsets, API 91: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct, uuid


@message(key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsRequest(Message):
    group_id: string = field()
    topics: list[AlterShareGroupOffsetsRequestTopic] = field()


@struct
class AlterShareGroupOffsetsRequestTopic(Struct):
    topic_name: string = field()
    partitions: list[AlterShareGroupOffsetsRequestPartition] = field()


@struct
class AlterShareGroupOffsetsRequestPartition(Struct):
    partition_index: int32 = field()
    start_offset: int64 = field()


@message(key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
    responses: list[AlterShareGroupOffsetsResponseTopic] = field()


@struct
class AlterShareGroupOffsetsResponseTopic(Struct):
    topic_name: string = field()
    topic_id: uuid = field()
    partitions: list[AlterShareGroupOffsetsResponsePartition] = field()


@struct
class AlterShareGroupOffsetsResponsePartition(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
