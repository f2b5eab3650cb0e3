"""AlterPartition, API 56: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, int64, message, struct, uuid


@message(key=56, versions="2-3", flexible="0+")
class AlterPartitionRequest(Message):
    broker_id: int32 = field()
    broker_epoch: int64 = field(default=-1)
    topics: list[TopicData] = field()


@struct
class TopicData(Struct):
    topic_id: uuid = field()
    partitions: list[PartitionData] = field()


@struct
class PartitionData(Struct):
    partition_index: int32 = field()
    leader_epoch: int32 = field()
    new_isr: list[int32] = field("2")
    new_isr_with_epochs: list[BrokerState] = field("3+")
    leader_recovery_state: int8 = field()
    partition_epoch: int32 = field()


@struct
class BrokerState(Struct):
    broker_id: int32 = field("3+")
    broker_epoch: int64 = field("3+", default=-1)


@message(key=56, versions="2-3", flexible="0+")
class AlterPartitionResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    topics: list[ResponseTopicData] = field()


@struct
class ResponseTopicData(Struct):
    topic_id: uuid = field()
    partitions: list[ResponsePartitionData] = field()


@struct
class ResponsePartitionData(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
    leader_id: int32 = field()
    leader_epoch: int32 = field()
    isr: list[int32] = field()
    leader_recovery_state: int8 = field()
    partition_epoch: int32 = field()
