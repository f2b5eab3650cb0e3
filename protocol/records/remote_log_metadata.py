"""What Kafka keeps in __remote_log_metadata."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Data, Struct, data, field, int8, int32, int64, string, struct, uuid


@data(key=0, versions="0", flexible="0+")
class RemoteLogSegmentMetadataRecord(Data):
    remote_log_segment_id: RemoteLogSegmentIdEntry = field()
    start_offset: int64 = field()
    end_offset: int64 = field()
    broker_id: int32 = field()
    max_timestamp_ms: int64 = field()
    event_timestamp_ms: int64 = field()
    segment_leader_epochs: list[SegmentLeaderEpochEntry] = field()
    segment_size_in_bytes: int32 = field()
    custom_metadata: bytes | None = field(default=None)
    remote_log_segment_state: int8 = field()
    txn_index_empty: bool = field(tag=0)


@struct
class RemoteLogSegmentIdEntry(Struct):
    topic_id_partition: TopicIdPartitionEntry = field()
    id: uuid = field()


@struct
class TopicIdPartitionEntry(Struct):
    name: string = field()
    id: uuid = field()
    partition: int32 = field()


@struct
class SegmentLeaderEpochEntry(Struct):
    leader_epoch: int32 = field()
    offset: int64 = field()


@data(key=1, versions="0", flexible="0+")
class RemoteLogSegmentMetadataUpdateRecord(Data):
    remote_log_segment_id: RemoteLogSegmentIdEntry = field()
    broker_id: int32 = field()
    event_timestamp_ms: int64 = field()
    custom_metadata: bytes | None = field(default=None)
    remote_log_segment_state: int8 = field()


@data(key=2, versions="0", flexible="0+")
class RemotePartitionDeleteMetadataRecord(Data):
    topic_id_partition: TopicIdPartitionEntry = field()
    broker_id: int32 = field()
    event_timestamp_ms: int64 = field()
    remote_partition_delete_state: int8 = field()


@data(key=3, versions="0", flexible="0+")
class RemoteLogSegmentMetadataSnapshotRecord(Data):
    segment_id: uuid = field()
    start_offset: int64 = field()
    end_offset: int64 = field()
    broker_id: int32 = field()
    max_timestamp_ms: int64 = field()
    event_timestamp_ms: int64 = field()
    segment_leader_epochs: list[SegmentLeaderEpochEntry] = field()
    segment_size_in_bytes: int32 = field()
    custom_metadata: bytes | None = field(default=None)
    remote_log_segment_state: int8 = field()
    txn_index_empty: bool = field(tag=0)
