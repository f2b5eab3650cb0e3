"""DeleteShareGroupOffsets, API 92: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct, uuid


@message(key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsRequest(Message):
    group_id: string = field()
    topics: list[DeleteShareGroupOffsetsRequestTopic] = field()


@struct
class DeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name: string = field()


@message(key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = field()


@struct
class DeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name: string = field()
    topic_id: uuid = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
