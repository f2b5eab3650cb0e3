"""AddOffsetsToTxn, API 25: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int16, int32, int64, message, string


@message(key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnRequest(Message):
    transactional_id: string = field()
    producer_id: int64 = field()
    producer_epoch: int16 = field()
    group_id: string = field()


@message(key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
