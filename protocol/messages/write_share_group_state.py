"""WriteShareGroupState, API 85: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, int64, message, string, struct, uuid


@message(key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateRequest(Message):
    group_id: string = field()
    topics: list[WriteStateData] = field()


@struct
class WriteStateData(Struct):
    topic_id: uuid = field()
    partitions: list[PartitionData] = field()


@struct
class PartitionData(Struct):
    partition: int32 = field()
    state_epoch: int32 = field()
    leader_epoch: int32 = field()
    start_offset: int64 = field()
    delivery_complete_count: int32 = field("1+", default=-1, ignorable=True)
    state_batches: list[StateBatch] = field()


@struct
class StateBatch(Struct):
    first_offset: int64 = field()
    last_offset: int64 = field()
    delivery_state: int8 = field()
    delivery_count: int16 = field()


@message(key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateResponse(Message):
    results: list[WriteStateResult] = field()


@struct
class WriteStateResult(Struct):
    topic_id: uuid = field()
    partitions: list[PartitionResult] = field()


@struct
class PartitionResult(Struct):
    partition: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
