"""DescribeTopicPartitions, API 75: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct, uuid


@message(key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsRequest(Message):
    topics: list[TopicRequest] = field()
    response_partition_limit: int32 = field(default=2000)
    cursor: Cursor | None = field(default=None)


@struct
class TopicRequest(Struct):
    name: string = field()


@struct
class Cursor(Struct):
    topic_name: string = field()
    partition_index: int32 = field()


@message(key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsResponse(Message):
    throttle_time_ms: int32 = field()
    topics: list[DescribeTopicPartitionsResponseTopic] = field()
    next_cursor: Cursor | None = field(default=None)


@struct
class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: int16 = field()
    name: string | None = field()
    topic_id: uuid = field()
    is_internal: bool = field()
    partitions: list[DescribeTopicPartitionsResponsePartition] = field()
    topic_authorized_operations: int32 = field(default=-2147483648)


@struct
class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: int16 = field()
    partition_index: int32 = field()
    leader_id: int32 = field()
    leader_epoch: int32 = field(default=-1)
    replica_nodes: list[int32] = field()
    isr_nodes: list[int32] = field()
    eligible_leader_replicas: list[int32] | None = field(default=None)
    last_known_elr: list[int32] | None = field(default=None)
    offline_replicas: list[int32] = field()
