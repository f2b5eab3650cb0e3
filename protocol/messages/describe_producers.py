"""DescribeProducers, API 61: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct


@message(key=61, versions="0", flexible="0+")
class DescribeProducersRequest(Message):
    topics: list[TopicRequest] = field()


@struct
class TopicRequest(Struct):
    name: string = field()
    partition_indexes: list[int32] = field()


@message(key=61, versions="0", flexible="0+")
class DescribeProducersResponse(Message):
    throttle_time_ms: int32 = field()
    topics: list[TopicResponse] = field()


@struct
class TopicResponse(Struct):
    name: string = field()
    partitions: list[PartitionResponse] = field()


@struct
class PartitionResponse(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
    active_producers: list[ProducerState] = field()


@struct
class ProducerState(Struct):
    producer_id: int64 = field()
    producer_epoch: int32 = field()
    last_sequence: int32 = field(default=-1)
    last_timestamp: int64 = field(default=-1)
    coordinator_epoch: int32 = field()
    current_txn_start_offset: int64 = field(default=-1)
