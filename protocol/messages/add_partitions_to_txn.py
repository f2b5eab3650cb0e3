"""AddPartitionsToTxn, API 24: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct


@message(key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnRequest(Message):
    transactions: list[AddPartitionsToTxnTransaction] = field("4+")
    v3_and_below_transactional_id: string = field("0-3")
    v3_and_below_producer_id: int64 = field("0-3")
    v3_and_below_producer_epoch: int16 = field("0-3")
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field("0-3")


@struct
class AddPartitionsToTxnTransaction(Struct):
    transactional_id: string = field("4+")
    producer_id: int64 = field("4+")
    producer_epoch: int16 = field("4+")
    verify_only: bool = field("4+")
    topics: list[AddPartitionsToTxnTopic] = field("4+")


@struct
class AddPartitionsToTxnTopic(Struct):
    name: string = field()
    partitions: list[int32] = field()


@message(key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field("4+", ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = field("4+")
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field("0-3")


@struct
class AddPartitionsToTxnResult(Struct):
    transactional_id: string = field("4+")
    topic_results: list[AddPartitionsToTxnTopicResult] = field("4+")


@struct
class AddPartitionsToTxnTopicResult(Struct):
    name: string = field()
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field()


@struct
class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: int32 = field()
    partition_error_code: int16 = field()
