"""StreamsGroupDescribe, API 89: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct, uint16


@message(key=89, versions="0", flexible="0+")
class StreamsGroupDescribeRequest(Message):
    group_ids: list[string] = field()
    include_authorized_operations: bool = field()


@message(key=89, versions="0", flexible="0+")
class StreamsGroupDescribeResponse(Message):
    throttle_time_ms: int32 = field()
    groups: list[DescribedGroup] = field()


@struct
class DescribedGroup(Struct):
    error_code: int16 = field()
    error_message: string | None = field(default=None)
    group_id: string = field()
    group_state: string = field()
    group_epoch: int32 = field()
    assignment_epoch: int32 = field()
    topology: Topology | None = field(default=None)
    members: list[Member] = field()
    authorized_operations: int32 = field(default=-2147483648)


@struct
class Topology(Struct):
    epoch: int32 = field()
    subtopologies: list[Subtopology] | None = field(default=None)


@struct
class Subtopology(Struct):
    subtopology_id: string = field()
    source_topics: list[string] = field()
    repartition_sink_topics: list[string] = field()
    state_changelog_topics: list[TopicInfo] = field()
    repartition_source_topics: list[TopicInfo] = field()


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
class Member(Struct):
    member_id: string = field()
    member_epoch: int32 = field()
    instance_id: string | None = field(default=None)
    rack_id: string | None = field(default=None)
    client_id: string = field()
    client_host: string = field()
    topology_epoch: int32 = field()
    process_id: string = field()
    user_endpoint: Endpoint | None = field(default=None)
    client_tags: list[KeyValue] = field()
    task_offsets: list[TaskOffset] = field()
    task_end_offsets: list[TaskOffset] = field()
    assignment: Assignment = field()
    target_assignment: Assignment = field()
    is_classic: bool = field()


@struct
class Endpoint(Struct):
    host: string = field()
    port: uint16 = field()


@struct
class TaskOffset(Struct):
    subtopology_id: string = field()
    partition: int32 = field()
    offset: int64 = field()


@struct
class Assignment(Struct):
    active_tasks: list[TaskIds] = field()
    standby_tasks: list[TaskIds] = field()
    warmup_tasks: list[TaskIds] = field()


@struct
class TaskIds(Struct):
    subtopology_id: string = field()
    partitions: list[int32] = field()
