"""ListOffsets, API 2: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, int64, message, string, struct


@message(key=2, versions="1-11", flexible="6+")
class ListOffsetsRequest(Message):
    replica_id: int32 = field()
    isolation_level: int8 = field("2+")
    topics: list[ListOffsetsTopic] = field()
    timeout_ms: int32 = field("10+", ignorable=True)


@struct
class ListOffsetsTopic(Struct):
    name: string = field()
    partitions: list[ListOffsetsPartition] = field()


@struct
class ListOffsetsPartition(Struct):
    partition_index: int32 = field()
    current_leader_epoch: int32 = field("4+", default=-1, ignorable=True)
    timestamp: int64 = field()


@message(key=2, versions="1-11", flexible="6+")
class ListOffsetsResponse(Message):
    throttle_time_ms: int32 = field("2+", ignorable=True)
    topics: list[ListOffsetsTopicResponse] = field()


@struct
class ListOffsetsTopicResponse(Struct):
    name: string = field()
    partitions: list[ListOffsetsPartitionResponse] = field()


@struct
class ListOffsetsPartitionResponse(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
    timestamp: int64 = field(default=-1)
    offset: int64 = field(default=-1)
    leader_epoch: int32 = field("4+", default=-1)
