"""CreatePartitions, API 37: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct


@message(key=37, versions="0-3", flexible="2+")
class CreatePartitionsRequest(Message):
    topics: list[CreatePartitionsTopic] = field()
    timeout_ms: int32 = field()
    validate_only: bool = field()


@struct
class CreatePartitionsTopic(Struct):
    name: string = field()
    count: int32 = field()
    assignments: list[CreatePartitionsAssignment] | None = field()


@struct
class CreatePartitionsAssignment(Struct):
    broker_ids: list[int32] = field()


@message(key=37, versions="0-3", flexible="2+")
class CreatePartitionsResponse(Message):
    throttle_time_ms: int32 = field()
    results: list[CreatePartitionsTopicResult] = field()


@struct
class CreatePartitionsTopicResult(Struct):
    name: string = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
