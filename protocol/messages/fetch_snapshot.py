"""FetchSnapshot, API 59: request and response."""

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
    uint16,
    uuid,
)


@message(key=59, versions="0-1", flexible="0+")
class FetchSnapshotRequest(Message):
    cluster_id: string | None = field(default=None, tag=0)
    replica_id: int32 = field(default=-1)
    max_bytes: int32 = field(default=2147483647)
    topics: list[TopicSnapshot] = field()


@struct
class TopicSnapshot(Struct):
    name: string = field()
    partitions: list[PartitionSnapshot] = field()


@struct
class PartitionSnapshot(Struct):
    partition: int32 = field()
    current_leader_epoch: int32 = field()
    snapshot_id: SnapshotId = field()
    position: int64 = field()
    replica_directory_id: uuid = field("1+", tag=0, ignorable=True)


@struct
class SnapshotId(Struct):
    end_offset: int64 = field()
    epoch: int32 = field()


@message(key=59, versions="0-1", flexible="0+")
class FetchSnapshotResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    topics: list[ResponseTopicSnapshot] = field()
    node_endpoints: list[NodeEndpoint] = field("1+", tag=0)


@struct
class ResponseTopicSnapshot(Struct):
    name: string = field()
    partitions: list[ResponsePartitionSnapshot] = field()


@struct
class ResponsePartitionSnapshot(Struct):
    index: int32 = field()
    error_code: int16 = field()
    snapshot_id: SnapshotId = field()
    current_leader: LeaderIdAndEpoch | None = field(tag=0)
    size: int64 = field()
    position: int64 = field()
    unaligned_records: record_bytes | None = field(nullable="none")


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: int32 = field()
    leader_epoch: int32 = field()


@struct
class NodeEndpoint(Struct):
    node_id: int32 = field("1+")
    host: string = field("1+")
    port: uint16 = field("1+")
