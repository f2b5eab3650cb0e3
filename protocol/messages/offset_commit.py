"""OffsetCommit, API 8: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct, uuid


@message(key=8, versions="2-10", flexible="8+")
class OffsetCommitRequest(Message):
    group_id: string = field()
    generation_id_or_member_epoch: int32 = field(default=-1)
    member_id: string = field()
    group_instance_id: string | None = field("7+", default=None)
    retention_time_ms: int64 = field("2-4", default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic] = field()


@struct
class OffsetCommitRequestTopic(Struct):
    name: string = field("2-9", ignorable=True)
    topic_id: uuid = field("10+", ignorable=True)
    partitions: list[OffsetCommitRequestPartition] = field()


@struct
class OffsetCommitRequestPartition(Struct):
    partition_index: int32 = field()
    committed_offset: int64 = field()
    committed_leader_epoch: int32 = field("6+", default=-1, ignorable=True)
    committed_metadata: string | None = field()


@message(key=8, versions="2-10", flexible="8+")
class OffsetCommitResponse(Message):
    throttle_time_ms: int32 = field("3+", ignorable=True)
    topics: list[OffsetCommitResponseTopic] = field()


@struct
class OffsetCommitResponseTopic(Struct):
    name: string = field("2-9", ignorable=True)
    topic_id: uuid = field("10+", ignorable=True)
    partitions: list[OffsetCommitResponsePartition] = field()


@struct
class OffsetCommitResponsePartition(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
