"""StreamsGroupHeartbeat, API 88: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, int64, message, string, struct, uint16


@message(key=88, versions="0", flexible="0+")
class StreamsGroupHeartbeatRequest(Message):
    group_id: string = field()
    member_id: string = field()
    member_epoch: int32 = field()
    endpoint_information_epoch: int32 = field()
    instance_id: string | None = field(default=None)
    rack_id: string | None = field(default=None)
    rebalance_timeout_ms: int32 = field(default=-1)
    topology: Topology | None = field(default=None)
    active_tasks: list[TaskIds] | None = field(default=None)
    standby_tasks: list[TaskIds] | None = field(default=None)
    warmup_tasks: list[TaskIds] | None = field(default=None)
    process_id: string | None = field(default=None)
    user_endpoint: Endpoint | None = field(default=None)
    client_tags: list[KeyValue] | None = field(default=None)
    task_offsets: list[TaskOffset] | None = field(default=None)
    task_end_offsets: list[TaskOffset] | None = field(default=None)
    shutdown_application: bool = field()


@struct
class Topology(Struct):
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
    topic_configs: list[KeyValue] = field()


@struct
class KeyValue(Struct):
    key: string = field()
    value: string = field()


@struct
class CopartitionGroup(Struct):
    source_topics: list[int16] = field()
    source_topic_regex: list[int16] = field()
    repartition_source_topics: list[int16] = field()


@struct
class TaskIds(Struct):
    subtopology_id: string = field()
    partitions: list[int32] = field()


@struct
class Endpoint(Struct):
    host: string = field()
    port: uint16 = field()


@struct
class TaskOffset(Struct):
    subtopology_id: string = field()
    partition: int32 = field()
    offset: int64 = field()


@message(key=88, versions="0", flexible="0+")
class StreamsGroupHeartbeatResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
    member_id: string = field()
    member_epoch: int32 = field()
    heartbeat_interval_ms: int32 = field()
    acceptable_recovery_lag: int32 = field()
    task_offset_interval_ms: int32 = field()
    status: list[Status] | None = field()
    active_tasks: list[TaskIds] | None = field(default=None)
    standby_tasks: list[TaskIds] | None = field(default=None)
    warmup_tasks: list[TaskIds] | None = field(default=None)
    endpoint_information_epoch: int32 = field()
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = field(default=None)


@struct
class Status(Struct):
    status_code: int8 = field()
    status_detail: string = field()


@struct
class EndpointToPartitions(Struct):
    user_endpoint: Endpoint = field()
    active_partitions: list[TopicPartition] = field()
    standby_partitions: list[TopicPartition] = field()


@struct
class TopicPartition(Struct):
    topic: string = field()
    partitions: list[int32] = field()
