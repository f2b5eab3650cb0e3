"""RenewDelegationToken, API 39: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int16, int32, int64, message


@message(key=39, versions="1-2", flexible="2+")
class RenewDelegationTokenRequest(Message):
    hmac: bytes = field()
    renew_period_ms: int64 = field()


@message(key=39, versions="1-2", flexible="2+")
class RenewDelegationTokenResponse(Message):
    error_code: int16 = field()
    expiry_timestamp_ms: int64 = field()
    throttle_time_ms: int32 = field()
