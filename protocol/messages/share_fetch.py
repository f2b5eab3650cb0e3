"""ShareFetch, API 78: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import (
    Message,
    Struct,
    field,
    int8,
    int16,
    int32,
    int64,
    message,
    record_bytes,
    string,
    struct,
    uuid,
)


@message(key=78, versions="1-2", flexible="0+")
class ShareFetchRequest(Message):
    group_id: string | None = field(default=None)
    member_id: string | None = field()
    share_session_epoch: int32 = field()
    max_wait_ms: int32 = field()
    min_bytes: int32 = field()
    max_bytes: int32 = field(default=2147483647)
    max_records: int32 = field()
    batch_size: int32 = field()
    share_acquire_mode: int8 = field("2+", ignorable=True)
    is_renew_ack: bool = field("2+")
    topics: list[FetchTopic] = field()
    forgotten_topics_data: list[ForgottenTopic] = field()


@struct
class FetchTopic(Struct):
    topic_id: uuid = field()
    partitions: list[FetchPartition] = field()


@struct
class FetchPartition(Struct):
    partition_index: int32 = field()
    acknowledgement_batches: list[AcknowledgementBatch] = field()


@struct
class AcknowledgementBatch(Struct):
    first_offset: int64 = field()
    last_offset: int64 = field()
    acknowledge_types: list[int8] = field()


@struct
class ForgottenTopic(Struct):
    topic_id: uuid = field()
    partitions: list[int32] = field()


@message(key=78, versions="1-2", flexible="0+")
class ShareFetchResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
    acquisition_lock_timeout_ms: int32 = field()
    responses: list[ShareFetchableTopicResponse] = field()
    node_endpoints: list[NodeEndpoint] = field()


@struct
class ShareFetchableTopicResponse(Struct):
    topic_id: uuid = field()
    partitions: list[PartitionData] = field()


@struct
class PartitionData(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
    acknowledge_error_code: int16 = field()
    acknowledge_error_message: string | None = field(default=None)
    current_leader: LeaderIdAndEpoch = field()
    records: record_bytes | None = field(nullable="none")
    acquired_records: list[AcquiredRecords] = field()


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: int32 = field()
    leader_epoch: int32 = field()


@struct
class AcquiredRecords(Struct):
    first_offset: int64 = field()
    last_offset: int64 = field()
    delivery_count: int16 = field()


@struct
class NodeEndpoint(Struct):
    node_id: int32 = field()
    host: string = field()
    port: int32 = field()
    rack: string | None = field(default=None)
