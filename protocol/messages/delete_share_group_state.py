"""DeleteShareGroupState, API 86: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct, uuid


@message(key=86, versions="0", flexible="0+")
class DeleteShareGroupStateRequest(Message):
    group_id: string = field()
    topics: list[DeleteStateData] = field()


@struct
class DeleteStateData(Struct):
    topic_id: uuid = field()
    partitions: list[PartitionData] = field()


@struct
class PartitionData(Struct):
    partition: int32 = field()


@message(key=86, versions="0", flexible="0+")
class DeleteShareGroupStateResponse(Message):
    results: list[DeleteStateResult] = field()


@struct
class DeleteStateResult(Struct):
    topic_id: uuid = field()
    partitions: list[PartitionResult] = field()


@struct
class PartitionResult(Struct):
    partition: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
