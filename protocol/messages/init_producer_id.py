"""InitProducerId, API 22: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int16, int32, int64, message, string


@message(key=22, versions="0-6", flexible="2+")
class InitProducerIdRequest(Message):
    transactional_id: string | None = field()
    transaction_timeout_ms: int32 = field()
    producer_id: int64 = field("3+", default=-1)
    producer_epoch: int16 = field("3+", default=-1)
    enable2_pc: bool = field("6+")
    keep_prepared_txn: bool = field("6+")


@message(key=22, versions="0-6", flexible="2+")
class InitProducerIdResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    producer_id: int64 = field(default=-1)
    producer_epoch: int16 = field()
    ongoing_txn_producer_id: int64 = field("6+", default=-1)
    ongoing_txn_producer_epoch: int16 = field("6+", default=-1)
