"""CreateDelegationToken, API 38: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct


@message(key=38, versions="1-3", flexible="2+")
class CreateDelegationTokenRequest(Message):
    owner_principal_type: string | None = field("3+")
    owner_principal_name: string | None = field("3+")
    renewers: list[CreatableRenewers] = field()
    max_lifetime_ms: int64 = field()


@struct
class CreatableRenewers(Struct):
    principal_type: string = field()
    principal_name: string = field()


@message(key=38, versions="1-3", flexible="2+")
class CreateDelegationTokenResponse(Message):
    error_code: int16 = field()
    principal_type: string = field()
    principal_name: string = field()
    token_requester_principal_type: string = field("3+")
    token_requester_principal_name: string = field("3+")
    issue_timestamp_ms: int64 = field()
    expiry_timestamp_ms: int64 = field()
    max_timestamp_ms: int64 = field()
    token_id: string = field()
    hmac: bytes = field()
    throttle_time_ms: int32 = field()
