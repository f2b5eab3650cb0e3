"""DescribeShareGroupOffsets, API 90: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct, uuid


@message(key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsRequest(Message):
    groups: list[DescribeShareGroupOffsetsRequestGroup] = field()


@struct
class DescribeShareGroupOffsetsRequestGroup(Struct):
    group_id: string = field()
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = field()


@struct
class DescribeShareGroupOffsetsRequestTopic(Struct):
    topic_name: string = field()
    partitions: list[int32] = field()


@message(key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsResponse(Message):
    throttle_time_ms: int32 = field()
    groups: list[DescribeShareGroupOffsetsResponseGroup] = field()


@struct
class DescribeShareGroupOffsetsResponseGroup(Struct):
    group_id: string = field()
    topics: list[DescribeShareGroupOffsetsResponseTopic] = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)


@struct
class DescribeShareGroupOffsetsResponseTopic(Struct):
    topic_name: string = field()
    topic_id: uuid = field()
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = field()


@struct
class DescribeShareGroupOffsetsResponsePartition(Struct):
    partition_index: int32 = field()
    start_offset: int64 = field()
    leader_epoch: int32 = field()
    lag: int64 = field("1+", default=-1, ignorable=True)
    error_code: int16 = field()
    error_message: string | None = field(default=None)
