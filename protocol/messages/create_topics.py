"""CreateTopics, API 19: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, message, string, struct, uuid


@message(key=19, versions="2-7", flexible="5+")
class CreateTopicsRequest(Message):
    topics: list[CreatableTopic] = field()
    timeout_ms: int32 = field(default=60000)
    validate_only: bool = field()


@struct
class CreatableTopic(Struct):
    name: string = field()
    num_partitions: int32 = field()
    replication_factor: int16 = field()
    assignments: list[CreatableReplicaAssignment] = field()
    configs: list[CreatableTopicConfig] = field()


@struct
class CreatableReplicaAssignment(Struct):
    partition_index: int32 = field()
    broker_ids: list[int32] = field()


@struct
class CreatableTopicConfig(Struct):
    name: string = field()
    value: string | None = field()


@message(key=19, versions="2-7", flexible="5+")
class CreateTopicsResponse(Message):
    throttle_time_ms: int32 = field()
    topics: list[CreatableTopicResult] = field()


@struct
class CreatableTopicResult(Struct):
    name: string = field()
    topic_id: uuid = field("7+", ignorable=True)
    error_code: int16 = field()
    error_message: string | None = field()
    topic_config_error_code: int16 = field("5+", tag=0, ignorable=True)
    num_partitions: int32 = field("5+", default=-1, ignorable=True)
    replication_factor: int16 = field("5+", default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = field("5+", ignorable=True)


@struct
class CreatableTopicConfigs(Struct):
    name: string = field("5+")
    value: string | None = field("5+")
    read_only: bool = field("5+")
    config_source: int8 = field("5+", default=-1, ignorable=True)
    is_sensitive: bool = field("5+")
