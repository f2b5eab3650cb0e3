"""Metadata, API 3: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct, uuid


@message(key=3, versions="0-13", flexible="9+")
class MetadataRequest(Message):
    topics: list[MetadataRequestTopic] | None = field(nullable="1+")
    allow_auto_topic_creation: bool = field("4+", default=True)
    include_cluster_authorized_operations: bool = field("8-10")
    include_topic_authorized_operations: bool = field("8+")


@struct
class MetadataRequestTopic(Struct):
    topic_id: uuid = field("10+", ignorable=True)
    name: string | None = field(nullable="10+")


@message(key=3, versions="0-13", flexible="9+")
class MetadataResponse(Message):
    throttle_time_ms: int32 = field("3+", ignorable=True)
    brokers: list[MetadataResponseBroker] = field()
    cluster_id: string | None = field("2+", default=None, ignorable=True)
    controller_id: int32 = field("1+", default=-1, ignorable=True)
    topics: list[MetadataResponseTopic] = field()
    cluster_authorized_operations: int32 = field("8-10", default=-2147483648)
    error_code: int16 = field("13+", ignorable=True)


@struct
class MetadataResponseBroker(Struct):
    node_id: int32 = field()
    host: string = field()
    port: int32 = field()
    rack: string | None = field("1+", default=None, ignorable=True)


@struct
class MetadataResponseTopic(Struct):
    error_code: int16 = field()
    name: string | None = field(nullable="12+")
    topic_id: uuid = field("10+", ignorable=True)
    is_internal: bool = field("1+", ignorable=True)
    partitions: list[MetadataResponsePartition] = field()
    topic_authorized_operations: int32 = field("8+", default=-2147483648)


@struct
class MetadataResponsePartition(Struct):
    error_code: int16 = field()
    partition_index: int32 = field()
    leader_id: int32 = field()
    leader_epoch: int32 = field("7+", default=-1, ignorable=True)
    replica_nodes: list[int32] = field()
    isr_nodes: list[int32] = field()
    offline_replicas: list[int32] = field("5+", ignorable=True)
