"""What Kafka keeps in __consumer_offsets: streams groups (KIP-1071)."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Data, Struct, data, field, int8, int16, int32, int64, string, struct, uint16


@data(key=17, versions="0", flexible="none")
class StreamsGroupMetadataKey(Data):
    group_id: string = field()


@data(key=17, versions="0", flexible="0+")
class StreamsGroupMetadataValue(Data):
    epoch: int32 = field()
    metadata_hash: int64 = field()
    validated_topology_epoch: int32 = field(default=-1, tag=0)
    last_assignment_configs: list[LastAssignmentConfig] | None = field(tag=1)


@struct
class LastAssignmentConfig(Struct):
    key: string = field()
    value: string = field()


@data(key=19, versions="0", flexible="none")
class StreamsGroupMemberMetadataKey(Data):
    group_id: string = field()
    member_id: string = field()


@data(key=19, versions="0", flexible="0+")
class StreamsGroupMemberMetadataValue(Data):
    instance_id: string | None = field()
    rack_id: string | None = field()
    client_id: string = field()
    client_host: string = field()
    rebalance_timeout_ms: int32 = field(default=-1)
    topology_epoch: int32 = field()
    process_id: string = field()
    user_endpoint: Endpoint | None = field(default=None)
    client_tags: list[KeyValue] = field()


@struct
class Endpoint(Struct):
    host: string = field()
    port: uint16 = field()


@struct
class KeyValue(Struct):
    key: string = field()
    value: string = field()


@data(key=20, versions="0", flexible="none")
class StreamsGroupTargetAssignmentMetadataKey(Data):
    group_id: string = field()


@data(key=20, versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMetadataValue(Data):
    assignment_epoch: int32 = field()
    assignment_timestamp: int64 = field(tag=0)


@data(key=21, versions="0", flexible="none")
class StreamsGroupTargetAssignmentMemberKey(Data):
    group_id: string = field()
    member_id: string = field()


@data(key=21, versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMemberValue(Data):
    active_tasks: list[TaskIds] = field()
    standby_tasks: list[TaskIds] = field()
    warmup_tasks: list[TaskIds] = field()


@struct
class TaskIds(Struct):
    subtopology_id: string = field()
    partitions: list[int32] = field()


@data(key=22, versions="0", flexible="none")
class StreamsGroupCurrentMemberAssignmentKey(Data):
    group_id: string = field()
    member_id: string = field()


@data(key=22, versions="0", flexible="0+")
class StreamsGroupCurrentMemberAssignmentValue(Data):
    member_epoch: int32 = field()
    previous_member_epoch: int32 = field()
    state: int8 = field()
    active_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field()
    standby_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field()
    warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field()
    active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field()
    standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field()
    warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field()


@struct
class StreamsGroupCurrentMemberAssignmentValueTaskIds(Struct):
    subtopology_id: string = field()
    partitions: list[int32] = field()
    assignment_epochs: list[int32] | None = field(tag=0)


@data(key=23, versions="0", flexible="none")
class StreamsGroupTopologyKey(Data):
    group_id: string = field()


@data(key=23, versions="0", flexible="0+")
class StreamsGroupTopologyValue(Data):
    epoch: int32 = field()
    subtopologies: list[Subtopology] = field()


@struct
class Subtopology(Struct):
    subtopology_id: string = field()
    source_topics: list[string] = field()
    source_topic_regex: list[string] = field()
    state_changelog_topics: list[TopicInfo] = field()
    repartition_sink_topics: list[string] = field()
    repartition_source_topics: list[TopicInfo] = field()
    copartition_groups: list[CopartitionGroup] = field()


@struct
class TopicInfo(Struct):
    name: string = field()
    partitions: int32 = field()
    replication_factor: int16 = field()
    topic_configs: list[TopicConfig] = field()


@struct
class TopicConfig(Struct):
    key: string = field()
    value: string = field()


@struct
class CopartitionGroup(Struct):
    source_topics: list[int16] = field()
    source_topic_regex: list[int16] = field()
    repartition_source_topics: list[int16] = field()
