"""ConsumerGroupHeartbeat, API 68: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct, uuid


@message(key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatRequest(Message):
    group_id: string = field()
    member_id: string = field()
    member_epoch: int32 = field()
    instance_id: string | None = field(default=None)
    rack_id: string | None = field(default=None)
    rebalance_timeout_ms: int32 = field(default=-1)
    subscribed_topic_names: list[string] | None = field(default=None)
    subscribed_topic_regex: string | None = field("1+", default=None)
    server_assignor: string | None = field(default=None)
    topic_partitions: list[TopicPartitions] | None = field(default=None)


@struct
class TopicPartitions(Struct):
    topic_id: uuid = field()
    partitions: list[int32] = field()


@message(key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
    member_id: string | None = field(default=None)
    member_epoch: int32 = field()
    heartbeat_interval_ms: int32 = field()
    assignment: Assignment | None = field(default=None)


@struct
class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = field()
