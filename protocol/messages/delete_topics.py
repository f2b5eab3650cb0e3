"""DeleteTopics, API 20: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct, uuid


@message(key=20, versions="1-6", flexible="4+")
class DeleteTopicsRequest(Message):
    topics: list[DeleteTopicState] = field("6+")
    topic_names: list[string] = field("1-5", ignorable=True)
    timeout_ms: int32 = field()


@struct
class DeleteTopicState(Struct):
    name: string | None = field("6+", default=None)
    topic_id: uuid = field("6+")


@message(key=20, versions="1-6", flexible="4+")
class DeleteTopicsResponse(Message):
    throttle_time_ms: int32 = field()
    responses: list[DeletableTopicResult] = field()


@struct
class DeletableTopicResult(Struct):
    name: string | None = field(nullable="6+")
    topic_id: uuid = field("6+", ignorable=True)
    error_code: int16 = field()
    error_message: string | None = field("5+", default=None, ignorable=True)
