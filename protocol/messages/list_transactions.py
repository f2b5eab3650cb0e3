"""ListTransactions, API 66: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct


@message(key=66, versions="0-2", flexible="0+")
class ListTransactionsRequest(Message):
    state_filters: list[string] = field()
    producer_id_filters: list[int64] = field()
    duration_filter: int64 = field("1+", default=-1)
    transactional_id_pattern: string | None = field("2+", default=None)


@message(key=66, versions="0-2", flexible="0+")
class ListTransactionsResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    unknown_state_filters: list[string] = field()
    transaction_states: list[TransactionState] = field()


@struct
class TransactionState(Struct):
    transactional_id: string = field()
    producer_id: int64 = field()
    transaction_state: string = field()
