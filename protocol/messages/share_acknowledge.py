"""ShareAcknowledge, API 79: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, int64, message, string, struct, uuid


@message(key=79, versions="1-2", flexible="0+")
class ShareAcknowledgeRequest(Message):
    group_id: string | None = field(default=None)
    member_id: string | None = field()
    share_session_epoch: int32 = field()
    is_renew_ack: bool = field("2+")
    topics: list[AcknowledgeTopic] = field()


@struct
class AcknowledgeTopic(Struct):
    topic_id: uuid = field()
    partitions: list[AcknowledgePartition] = field()


@struct
class AcknowledgePartition(Struct):
    partition_index: int32 = field()
    acknowledgement_batches: list[AcknowledgementBatch] = field()


@struct
class AcknowledgementBatch(Struct):
    first_offset: int64 = field()
    last_offset: int64 = field()
    acknowledge_types: list[int8] = field()


@message(key=79, versions="1-2", flexible="0+")
class ShareAcknowledgeResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
    acquisition_lock_timeout_ms: int32 = field("2+", ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse] = field()
    node_endpoints: list[NodeEndpoint] = field()


@struct
class ShareAcknowledgeTopicResponse(Struct):
    topic_id: uuid = field()
    partitions: list[PartitionData] = field()


@struct
class PartitionData(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
    current_leader: LeaderIdAndEpoch = field()


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: int32 = field()
    leader_epoch: int32 = field()


@struct
class NodeEndpoint(Struct):
    node_id: int32 = field()
    host: string = field()
    port: int32 = field()
    rack: string | None = field(default=None)
