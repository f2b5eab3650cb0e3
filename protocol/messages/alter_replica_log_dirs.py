"""AlterReplicaLogDirs, API 34: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct


@message(key=34, versions="1-2", flexible="2+")
class AlterReplicaLogDirsRequest(Message):
    dirs: list[AlterReplicaLogDir] = field()


@struct
class AlterReplicaLogDir(Struct):
    path: string = field()
    topics: list[AlterReplicaLogDirTopic] = field()


@struct
class AlterReplicaLogDirTopic(Struct):
    name: string = field()
    partitions: list[int32] = field()


@message(key=34, versions="1-2", flexible="2+")
class AlterReplicaLogDirsResponse(Message):
    throttle_time_ms: int32 = field()
    results: list[AlterReplicaLogDirTopicResult] = field()


@struct
class AlterReplicaLogDirTopicResult(Struct):
    topic_name: string = field()
    partitions: list[AlterReplicaLogDirPartitionResult] = field()


@struct
class AlterReplicaLogDirPartitionResult(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
