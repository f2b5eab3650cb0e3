"""DescribeTransactions, API 65: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct


@message(key=65, versions="0", flexible="0+")
class DescribeTransactionsRequest(Message):
    transactional_ids: list[string] = field()


@message(key=65, versions="0", flexible="0+")
class DescribeTransactionsResponse(Message):
    throttle_time_ms: int32 = field()
    transaction_states: list[TransactionState] = field()


@struct
class TransactionState(Struct):
    error_code: int16 = field()
    transactional_id: string = field()
    transaction_state: string = field()
    transaction_timeout_ms: int32 = field()
    transaction_start_time_ms: int64 = field()
    producer_id: int64 = field()
    producer_epoch: int16 = field()
    topics: list[TopicData] = field()


@struct
class TopicData(Struct):
    topic: string = field()
    partitions: list[int32] = field()
