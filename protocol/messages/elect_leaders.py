"""ElectLeaders, API 43: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, message, string, struct


@message(key=43, versions="0-2", flexible="2+")
class ElectLeadersRequest(Message):
    election_type: int8 = field("1+")
    topic_partitions: list[TopicPartitions] | None = field()
    timeout_ms: int32 = field(default=60000)


@struct
class TopicPartitions(Struct):
    topic: string = field()
    partitions: list[int32] = field()


@message(key=43, versions="0-2", flexible="2+")
class ElectLeadersResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field("1+")
    replica_election_results: list[ReplicaElectionResult] = field()


@struct
class ReplicaElectionResult(Struct):
    topic: string = field()
    partition_result: list[PartitionResult] = field()


@struct
class PartitionResult(Struct):
    partition_id: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field()
