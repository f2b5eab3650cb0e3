"""Fetch, API 1: request and response."""

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


@message(key=1, versions="4-18", flexible="12+")
class FetchRequest(Message):
    cluster_id: string | None = field("12+", default=None, tag=0, ignorable=True)
    replica_id: int32 = field("4-14", default=-1)
    replica_state: ReplicaState | None = field("15+", tag=1)
    max_wait_ms: int32 = field()
    min_bytes: int32 = field()
    max_bytes: int32 = field(default=2147483647)
    isolation_level: int8 = field()
    session_id: int32 = field("7+", ignorable=True)
    session_epoch: int32 = field("7+", default=-1, ignorable=True)
    topics: list[FetchTopic] = field()
    forgotten_topics_data: list[ForgottenTopic] = field("7+")
    rack_id: string = field("11+", ignorable=True)


@struct
class ReplicaState(Struct):
    replica_id: int32 = field("15+", default=-1)
    replica_epoch: int64 = field("15+", default=-1)


@struct
class FetchTopic(Struct):
    topic: string = field("4-12", ignorable=True)
    topic_id: uuid = field("13+", ignorable=True)
    partitions: list[FetchPartition] = field()


@struct
class FetchPartition(Struct):
    partition: int32 = field()
    current_leader_epoch: int32 = field("9+", default=-1, ignorable=True)
    fetch_offset: int64 = field()
    last_fetched_epoch: int32 = field("12+", default=-1)
    log_start_offset: int64 = field("5+", default=-1, ignorable=True)
    partition_max_bytes: int32 = field()
    replica_directory_id: uuid = field("17+", tag=0, ignorable=True)
    high_watermark: int64 = field("18+", default=9223372036854775807, tag=1, ignorable=True)


@struct
class ForgottenTopic(Struct):
    topic: string = field("7-12", ignorable=True)
    topic_id: uuid = field("13+", ignorable=True)
    partitions: list[int32] = field("7+")


@message(key=1, versions="4-18", flexible="12+")
class FetchResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field("7+", ignorable=True)
    session_id: int32 = field("7+")
    responses: list[FetchableTopicResponse] = field()
    node_endpoints: list[NodeEndpoint] = field("16+", tag=0)


@struct
class FetchableTopicResponse(Struct):
    topic: string = field("4-12", ignorable=True)
    topic_id: uuid = field("13+", ignorable=True)
    partitions: list[PartitionData] = field()


@struct
class PartitionData(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
    high_watermark: int64 = field()
    last_stable_offset: int64 = field(default=-1)
    log_start_offset: int64 = field("5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset | None = field("12+", tag=0)
    current_leader: LeaderIdAndEpoch | None = field("12+", tag=1)
    snapshot_id: SnapshotId | None = field("12+", tag=2)
    aborted_transactions: list[AbortedTransaction] | None = field()
    preferred_read_replica: int32 = field("11+", default=-1)
    records: record_bytes | None = field()


@struct
class EpochEndOffset(Struct):
    epoch: int32 = field("12+", default=-1)
    end_offset: int64 = field("12+", default=-1)


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: int32 = field("12+", default=-1)
    leader_epoch: int32 = field("12+", default=-1)


@struct
class SnapshotId(Struct):
    end_offset: int64 = field(default=-1)
    epoch: int32 = field(default=-1)


@struct
class AbortedTransaction(Struct):
    producer_id: int64 = field()
    first_offset: int64 = field()


@struct
class NodeEndpoint(Struct):
    node_id: int32 = field("16+")
    host: string = field("16+")
    port: int32 = field("16+")
    rack: string | None = field("16+", default=None)
