"""AlterPartitionReassignments, API 45: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct


@message(key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsRequest(Message):
    timeout_ms: int32 = field(default=60000)
    allow_replication_factor_change: bool = field("1+", default=True)
    topics: list[ReassignableTopic] = field()


@struct
class ReassignableTopic(Struct):
    name: string = field()
    partitions: list[ReassignablePartition] = field()


@struct
class ReassignablePartition(Struct):
    partition_index: int32 = field()
    replicas: list[int32] | None = field(default=None)


@message(key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsResponse(Message):
    throttle_time_ms: int32 = field()
    allow_replication_factor_change: bool = field("1+", default=True, ignorable=True)
    error_code: int16 = field()
    error_message: string | None = field()
    responses: list[ReassignableTopicResponse] = field()


@struct
class ReassignableTopicResponse(Struct):
    name: string = field()
    partitions: list[ReassignablePartitionResponse] = field()


@struct
class ReassignablePartitionResponse(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field()
