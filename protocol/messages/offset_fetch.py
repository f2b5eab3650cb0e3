"""OffsetFetch, API 9: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct, uuid


@message(key=9, versions="1-10", flexible="6+")
class OffsetFetchRequest(Message):
    group_id: string = field("1-7")
    topics: list[OffsetFetchRequestTopic] | None = field("1-7", nullable="2-7")
    groups: list[OffsetFetchRequestGroup] = field("8+")
    require_stable: bool = field("7+")


@struct
class OffsetFetchRequestTopic(Struct):
    name: string = field("1-7")
    partition_indexes: list[int32] = field("1-7")


@struct
class OffsetFetchRequestGroup(Struct):
    group_id: string = field("8+")
    member_id: string | None = field("9+", default=None, ignorable=True)
    member_epoch: int32 = field("9+", default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = field("8+")


@struct
class OffsetFetchRequestTopics(Struct):
    name: string = field("8-9", ignorable=True)
    topic_id: uuid = field("10+", ignorable=True)
    partition_indexes: list[int32] = field("8+")


@message(key=9, versions="1-10", flexible="6+")
class OffsetFetchResponse(Message):
    throttle_time_ms: int32 = field("3+", ignorable=True)
    topics: list[OffsetFetchResponseTopic] = field("1-7")
    error_code: int16 = field("2-7", ignorable=True)
    groups: list[OffsetFetchResponseGroup] = field("8+")


@struct
class OffsetFetchResponseTopic(Struct):
    name: string = field("1-7")
    partitions: list[OffsetFetchResponsePartition] = field("1-7")


@struct
class OffsetFetchResponsePartition(Struct):
    partition_index: int32 = field("1-7")
    committed_offset: int64 = field("1-7")
    committed_leader_epoch: int32 = field("5-7", default=-1, ignorable=True)
    metadata: string | None = field("1-7")
    error_code: int16 = field("1-7")


@struct
class OffsetFetchResponseGroup(Struct):
    group_id: string = field("8+")
    topics: list[OffsetFetchResponseTopics] = field("8+")
    error_code: int16 = field("8+")


@struct
class OffsetFetchResponseTopics(Struct):
    name: string = field("8-9", ignorable=True)
    topic_id: uuid = field("10+", ignorable=True)
    partitions: list[OffsetFetchResponsePartitions] = field("8+")


@struct
class OffsetFetchResponsePartitions(Struct):
    partition_index: int32 = field("8+")
    committed_offset: int64 = field("8+")
    committed_leader_epoch: int32 = field("8+", default=-1, ignorable=True)
    metadata: string | None = field("8+")
    error_code: int16 = field("8+")
