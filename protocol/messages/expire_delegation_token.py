"""ExpireDelegationToken, API 40: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int16, int32, int64, message


@message(key=40, versions="1-2", flexible="2+")
class ExpireDelegationTokenRequest(Message):
    hmac: bytes = field()
    expiry_time_period_ms: int64 = field()


@message(key=40, versions="1-2", flexible="2+")
class ExpireDelegationTokenResponse(Message):
    error_code: int16 = field()
    expiry_timestamp_ms: int64 = field()
    throttle_time_ms: int32 = field()
