"""AllocateProducerIds, API 67: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int16, int32, int64, message


@message(key=67, versions="0", flexible="0+")
class AllocateProducerIdsRequest(Message):
    broker_id: int32 = field()
    broker_epoch: int64 = field(default=-1)


@message(key=67, versions="0", flexible="0+")
class AllocateProducerIdsResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    producer_id_start: int64 = field()
    producer_id_len: int32 = field()
