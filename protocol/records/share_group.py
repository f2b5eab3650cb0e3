"""What Kafka keeps in __consumer_offsets: share groups (KIP-932)."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Data, Struct, data, field, int8, int32, int64, string, struct, uuid


@data(key=10, versions="0", flexible="none")
class ShareGroupMemberMetadataKey(Data):
    group_id: string = field()
    member_id: string = field()


@data(key=10, versions="0", flexible="0+")
class ShareGroupMemberMetadataValue(Data):
    rack_id: string | None = field()
    client_id: string = field()
    client_host: string = field()
    subscribed_topic_names: list[string] = field()


@data(key=11, versions="0", flexible="none")
class ShareGroupMetadataKey(Data):
    group_id: string = field()


@data(key=11, versions="0", flexible="0+")
class ShareGroupMetadataValue(Data):
    epoch: int32 = field()
    metadata_hash: int64 = field()


@data(key=12, versions="0", flexible="none")
class ShareGroupTargetAssignmentMetadataKey(Data):
    group_id: string = field()


@data(key=12, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMetadataValue(Data):
    assignment_epoch: int32 = field()
    assignment_timestamp: int64 = field(tag=0)


@data(key=13, versions="0", flexible="none")
class ShareGroupTargetAssignmentMemberKey(Data):
    group_id: string = field()
    member_id: string = field()


@data(key=13, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMemberValue(Data):
    topic_partitions: list[TopicPartition] = field()


@struct
class TopicPartition(Struct):
    topic_id: uuid = field()
    partitions: list[int32] = field()


@data(key=14, versions="0", flexible="none")
class ShareGroupCurrentMemberAssignmentKey(Data):
    group_id: string = field()
    member_id: string = field()


@data(key=14, versions="0", flexible="0+")
class ShareGroupCurrentMemberAssignmentValue(Data):
    member_epoch: int32 = field()
    previous_member_epoch: int32 = field()
    state: int8 = field()
    assigned_partitions: list[TopicPartitions] = field()


@struct
class TopicPartitions(Struct):
    topic_id: uuid = field()
    partitions: list[int32] = field()


@data(key=15, versions="0", flexible="none")
class ShareGroupStatePartitionMetadataKey(Data):
    group_id: string = field()


@data(key=15, versions="0", flexible="0+")
class ShareGroupStatePartitionMetadataValue(Data):
    initializing_topics: list[TopicPartitionsInfo] = field()
    initialized_topics: list[TopicPartitionsInfo] = field()
    deleting_topics: list[TopicInfo] = field()


@struct
class TopicPartitionsInfo(Struct):
    topic_id: uuid = field()
    topic_name: string = field()
    partitions: list[int32] = field()


@struct
class TopicInfo(Struct):
    topic_id: uuid = field()
    topic_name: string = field()
