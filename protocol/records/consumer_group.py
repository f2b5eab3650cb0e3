"""What Kafka keeps in __consumer_offsets: groups of the consumer protocol (KIP-848)."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Data, Struct, data, field, int8, int32, int64, string, struct, uuid


@data(key=3, versions="0", flexible="none")
class ConsumerGroupMetadataKey(Data):
    group_id: string = field()


@data(key=3, versions="0", flexible="0+")
class ConsumerGroupMetadataValue(Data):
    epoch: int32 = field()
    metadata_hash: int64 = field(tag=0)


@data(key=4, versions="0", flexible="none")
class ConsumerGroupPartitionMetadataKey(Data):
    group_id: string = field()


@data(key=4, versions="0", flexible="0+")
class ConsumerGroupPartitionMetadataValue(Data):
    topics: list[TopicMetadata] = field()


@struct
class TopicMetadata(Struct):
    topic_id: uuid = field()
    topic_name: string = field()
    num_partitions: int32 = field()
    partition_metadata: list[PartitionMetadata] = field()


@struct
class PartitionMetadata(Struct):
    partition: int32 = field()
    racks: list[string] = field()


@data(key=5, versions="0", flexible="none")
class ConsumerGroupMemberMetadataKey(Data):
    group_id: string = field()
    member_id: string = field()


@data(key=5, versions="0", flexible="0+")
class ConsumerGroupMemberMetadataValue(Data):
    instance_id: string | None = field()
    rack_id: string | None = field()
    client_id: string = field()
    client_host: string = field()
    subscribed_topic_names: list[string] = field()
    subscribed_topic_regex: string | None = field()
    rebalance_timeout_ms: int32 = field(default=-1)
    server_assignor: string | None = field()
    classic_member_metadata: ClassicMemberMetadata | None = field(nullable="0+", tag=0)


@struct
class ClassicMemberMetadata(Struct):
    session_timeout_ms: int32 = field()
    supported_protocols: list[ClassicProtocol] = field()


@struct
class ClassicProtocol(Struct):
    name: string = field()
    metadata: bytes = field()


@data(key=6, versions="0", flexible="none")
class ConsumerGroupTargetAssignmentMetadataKey(Data):
    group_id: string = field()


@data(key=6, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMetadataValue(Data):
    assignment_epoch: int32 = field()
    assignment_timestamp: int64 = field(tag=0)


@data(key=7, versions="0", flexible="none")
class ConsumerGroupTargetAssignmentMemberKey(Data):
    group_id: string = field()
    member_id: string = field()


@data(key=7, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMemberValue(Data):
    topic_partitions: list[TopicPartition] = field()


@struct
class TopicPartition(Struct):
    topic_id: uuid = field()
    partitions: list[int32] = field()


@data(key=8, versions="0", flexible="none")
class ConsumerGroupCurrentMemberAssignmentKey(Data):
    group_id: string = field()
    member_id: string = field()


@data(key=8, versions="0", flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValue(Data):
    member_epoch: int32 = field()
    previous_member_epoch: int32 = field()
    state: int8 = field()
    assigned_partitions: list[TopicPartitions] = field()
    partitions_pending_revocation: list[TopicPartitions] = field()


@struct
class TopicPartitions(Struct):
    topic_id: uuid = field()
    partitions: list[int32] = field()
    assignment_epochs: list[int32] | None = field(tag=0)


@data(key=16, versions="0", flexible="none")
class ConsumerGroupRegularExpressionKey(Data):
    group_id: string = field()
    regular_expression: string = field()


@data(key=16, versions="0", flexible="0+")
class ConsumerGroupRegularExpressionValue(Data):
    topics: list[string] = field()
    version: int64 = field()
    timestamp: int64 = field()
