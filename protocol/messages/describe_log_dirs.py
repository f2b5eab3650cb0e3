"""DescribeLogDirs, API 35: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct


@message(key=35, versions="1-5", flexible="2+")
class DescribeLogDirsRequest(Message):
    topics: list[DescribableLogDirTopic] | None = field()


@struct
class DescribableLogDirTopic(Struct):
    topic: string = field()
    partitions: list[int32] = field()


@message(key=35, versions="1-5", flexible="2+")
class DescribeLogDirsResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field("3+", ignorable=True)
    results: list[DescribeLogDirsResult] = field()


@struct
class DescribeLogDirsResult(Struct):
    error_code: int16 = field()
    log_dir: string = field()
    topics: list[DescribeLogDirsTopic] = field()
    total_bytes: int64 = field("4+", default=-1, ignorable=True)
    usable_bytes: int64 = field("4+", default=-1, ignorable=True)
    is_cordoned: bool = field("5+", ignorable=True)


@struct
class DescribeLogDirsTopic(Struct):
    name: string = field()
    partitions: list[DescribeLogDirsPartition] = field()


@struct
class DescribeLogDirsPartition(Struct):
    partition_index: int32 = field()
    partition_size: int64 = field()
    offset_lag: int64 = field()
    is_future_key: bool = field()
