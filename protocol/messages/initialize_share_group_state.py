"""InitializeShareGroupState, API 83: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct, uuid


@message(key=83, versions="0", flexible="0+")
class InitializeShareGroupStateRequest(Message):
    group_id: string = field()
    topics: list[InitializeStateData] = field()


@struct
class InitializeStateData(Struct):
    topic_id: uuid = field()
    partitions: list[PartitionData] = field()


@struct
class PartitionData(Struct):
    partition: int32 = field()
    state_epoch: int32 = field()
    start_offset: int64 = field()


@message(key=83, versions="0", flexible="0+")
class InitializeShareGroupStateResponse(Message):
    results: list[InitializeStateResult] = field()


@struct
class InitializeStateResult(Struct):
    topic_id: uuid = field()
    partitions: list[PartitionResult] = field()


@struct
class PartitionResult(Struct):
    partition: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
