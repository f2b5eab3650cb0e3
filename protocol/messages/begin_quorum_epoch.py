"""BeginQuorumEpoch, API 53: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct, uint16, uuid


@message(key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochRequest(Message):
    cluster_id: string | None = field(default=None)
    voter_id: int32 = field("1+", default=-1, ignorable=True)
    topics: list[TopicData] = field()
    leader_endpoints: list[LeaderEndpoint] = field("1+", ignorable=True)


@struct
class TopicData(Struct):
    topic_name: string = field()
    partitions: list[PartitionData] = field()


@struct
class PartitionData(Struct):
    partition_index: int32 = field()
    voter_directory_id: uuid = field("1+", ignorable=True)
    leader_id: int32 = field()
    leader_epoch: int32 = field()


@struct
class LeaderEndpoint(Struct):
    name: string = field("1+")
    host: string = field("1+")
    port: uint16 = field("1+")


@message(key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochResponse(Message):
    error_code: int16 = field()
    topics: list[ResponseTopicData] = field()
    node_endpoints: list[NodeEndpoint] = field("1+", tag=0)


@struct
class ResponseTopicData(Struct):
    topic_name: string = field()
    partitions: list[ResponsePartitionData] = field()


@struct
class ResponsePartitionData(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
    leader_id: int32 = field()
    leader_epoch: int32 = field()


@struct
class NodeEndpoint(Struct):
    node_id: int32 = field("1+")
    host: string = field("1+")
    port: uint16 = field("1+")
