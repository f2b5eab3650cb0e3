"""EndTxn, API 26: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int16, int32, int64, message, string


@message(key=26, versions="0-5", flexible="3+")
class EndTxnRequest(Message):
    transactional_id: string = field()
    producer_id: int64 = field()
    producer_epoch: int16 = field()
    committed: bool = field()


@message(key=26, versions="0-5", flexible="3+")
class EndTxnResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    producer_id: int64 = field("5+", default=-1, ignorable=True)
    producer_epoch: int16 = field("5+", default=-1, ignorable=True)
