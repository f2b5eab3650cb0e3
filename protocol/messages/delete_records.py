"""DeleteRecords, API 21: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct


@message(key=21, versions="0-2", flexible="2+")
class DeleteRecordsRequest(Message):
    topics: list[DeleteRecordsTopic] = field()
    timeout_ms: int32 = field()


@struct
class DeleteRecordsTopic(Struct):
    name: string = field()
    partitions: list[DeleteRecordsPartition] = field()


@struct
class DeleteRecordsPartition(Struct):
    partition_index: int32 = field()
    offset: int64 = field()


@message(key=21, versions="0-2", flexible="2+")
class DeleteRecordsResponse(Message):
    throttle_time_ms: int32 = field()
    topics: list[DeleteRecordsTopicResult] = field()


@struct
class DeleteRecordsTopicResult(Struct):
    name: string = field()
    partitions: list[DeleteRecordsPartitionResult] = field()


@struct
class DeleteRecordsPartitionResult(Struct):
    partition_index: int32 = field()
    low_watermark: int64 = field()
    error_code: int16 = field()
