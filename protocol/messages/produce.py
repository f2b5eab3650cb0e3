"""Produce, API 0: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import (
    Message,
    Struct,
    field,
    int16,
    int32,
    int64,
    message,
    record_bytes,
    string,
    struct,
    uuid,
)


@message(key=0, versions="3-13", flexible="9+")
class ProduceRequest(Message):
    transactional_id: string | None = field(default=None)
    acks: int16 = field()
    timeout_ms: int32 = field()
    topic_data: list[TopicProduceData] = field()


@struct
class TopicProduceData(Struct):
    name: string = field("3-12", ignorable=True)
    topic_id: uuid = field("13+", ignorable=True)
    partition_data: list[PartitionProduceData] = field()


@struct
class PartitionProduceData(Struct):
    index: int32 = field()
    records: record_bytes | None = field()


@message(key=0, versions="3-13", flexible="9+")
class ProduceResponse(Message):
    responses: list[TopicProduceResponse] = field()
    throttle_time_ms: int32 = field()
    node_endpoints: list[NodeEndpoint] = field("10+", tag=0)


@struct
class TopicProduceResponse(Struct):
    name: string = field("3-12", ignorable=True)
    topic_id: uuid = field("13+", ignorable=True)
    partition_responses: list[PartitionProduceResponse] = field()


@struct
class PartitionProduceResponse(Struct):
    index: int32 = field()
    error_code: int16 = field()
    base_offset: int64 = field()
    log_append_time_ms: int64 = field(default=-1)
    log_start_offset: int64 = field("5+", default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = field("8+", ignorable=True)
    error_message: string | None = field("8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch | None = field("10+", tag=0)


@struct
class BatchIndexAndErrorMessage(Struct):
    batch_index: int32 = field("8+")
    batch_index_error_message: string | None = field("8+", default=None)


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: int32 = field("10+", default=-1)
    leader_epoch: int32 = field("10+", default=-1)


@struct
class NodeEndpoint(Struct):
    node_id: int32 = field("10+")
    host: string = field("10+")
    port: int32 = field("10+")
    rack: string | None = field("10+", default=None)
