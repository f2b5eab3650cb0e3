"""DescribeQuorum, API 55: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct, uint16, uuid


@message(key=55, versions="0-2", flexible="0+")
class DescribeQuorumRequest(Message):
    topics: list[TopicData] = field()


@struct
class TopicData(Struct):
    topic_name: string = field()
    partitions: list[PartitionData] = field()


@struct
class PartitionData(Struct):
    partition_index: int32 = field()


@message(key=55, versions="0-2", flexible="0+")
class DescribeQuorumResponse(Message):
    error_code: int16 = field()
    error_message: string | None = field("2+", ignorable=True)
    topics: list[ResponseTopicData] = field()
    nodes: list[Node] = field("2+")


@struct
class ResponseTopicData(Struct):
    topic_name: string = field()
    partitions: list[ResponsePartitionData] = field()


@struct
class ResponsePartitionData(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field("2+", ignorable=True)
    leader_id: int32 = field()
    leader_epoch: int32 = field()
    high_watermark: int64 = field()
    current_voters: list[ReplicaState] = field()
    observers: list[ReplicaState] = field()


@struct
class ReplicaState(Struct):
    replica_id: int32 = field()
    replica_directory_id: uuid = field("2+")
    log_end_offset: int64 = field()
    last_fetch_timestamp: int64 = field("1+", default=-1, ignorable=True)
    last_caught_up_timestamp: int64 = field("1+", default=-1, ignorable=True)


@struct
class Node(Struct):
    node_id: int32 = field("2+")
    listeners: list[Listener] = field("2+")


@struct
class Listener(Struct):
    name: string = field("2+")
    host: string = field("2+")
    port: uint16 = field("2+")
