"""TxnOffsetCommit, API 28: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct


@message(key=28, versions="0-5", flexible="3+")
class TxnOffsetCommitRequest(Message):
    transactional_id: string = field()
    group_id: string = field()
    producer_id: int64 = field()
    producer_epoch: int16 = field()
    generation_id: int32 = field("3+", default=-1)
    member_id: string = field("3+")
    group_instance_id: string | None = field("3+", default=None)
    topics: list[TxnOffsetCommitRequestTopic] = field()


@struct
class TxnOffsetCommitRequestTopic(Struct):
    name: string = field()
    partitions: list[TxnOffsetCommitRequestPartition] = field()


@struct
class TxnOffsetCommitRequestPartition(Struct):
    partition_index: int32 = field()
    committed_offset: int64 = field()
    committed_leader_epoch: int32 = field("2+", default=-1, ignorable=True)
    committed_metadata: string | None = field()


@message(key=28, versions="0-5", flexible="3+")
class TxnOffsetCommitResponse(Message):
    throttle_time_ms: int32 = field()
    topics: list[TxnOffsetCommitResponseTopic] = field()


@struct
class TxnOffsetCommitResponseTopic(Struct):
    name: string = field()
    partitions: list[TxnOffsetCommitResponsePartition] = field()


@struct
class TxnOffsetCommitResponsePartition(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
