"""OffsetForLeaderEpoch, API 23: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct


@message(key=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochRequest(Message):
    replica_id: int32 = field("3+", default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic] = field()


@struct
class OffsetForLeaderTopic(Struct):
    topic: string = field()
    partitions: list[OffsetForLeaderPartition] = field()


@struct
class OffsetForLeaderPartition(Struct):
    partition: int32 = field()
    current_leader_epoch: int32 = field(default=-1)
    leader_epoch: int32 = field()


@message(key=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochResponse(Message):
    throttle_time_ms: int32 = field()
    topics: list[OffsetForLeaderTopicResult] = field()


@struct
class OffsetForLeaderTopicResult(Struct):
    topic: string = field()
    partitions: list[EpochEndOffset] = field()


@struct
class EpochEndOffset(Struct):
    error_code: int16 = field()
    partition: int32 = field()
    leader_epoch: int32 = field(default=-1)
    end_offset: int64 = field(default=-1)
