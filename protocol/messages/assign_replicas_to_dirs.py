"""AssignReplicasToDirs, API 73: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, struct, uuid


@message(key=73, versions="0", flexible="0+")
class AssignReplicasToDirsRequest(Message):
    broker_id: int32 = field()
    broker_epoch: int64 = field(default=-1)
    directories: list[DirectoryData] = field()


@struct
class DirectoryData(Struct):
    id: uuid = field()
    topics: list[TopicData] = field()


@struct
class TopicData(Struct):
    topic_id: uuid = field()
    partitions: list[PartitionData] = field()


@struct
class PartitionData(Struct):
    partition_index: int32 = field()


@message(key=73, versions="0", flexible="0+")
class AssignReplicasToDirsResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    directories: list[ResponseDirectoryData] = field()


@struct
class ResponseDirectoryData(Struct):
    id: uuid = field()
    topics: list[ResponseTopicData] = field()


@struct
class ResponseTopicData(Struct):
    topic_id: uuid = field()
    partitions: list[ResponsePartitionData] = field()


@struct
class ResponsePartitionData(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
