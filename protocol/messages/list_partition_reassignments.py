"""ListPartitionReassignments, API 46: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct


@message(key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsRequest(Message):
    timeout_ms: int32 = field(default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = field(default=None)


@struct
class ListPartitionReassignmentsTopics(Struct):
    name: string = field()
    partition_indexes: list[int32] = field()


@message(key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field()
    topics: list[OngoingTopicReassignment] = field()


@struct
class OngoingTopicReassignment(Struct):
    name: string = field()
    partitions: list[OngoingPartitionReassignment] = field()


@struct
class OngoingPartitionReassignment(Struct):
    partition_index: int32 = field()
    replicas: list[int32] = field()
    adding_replicas: list[int32] = field()
    removing_replicas: list[int32] = field()
