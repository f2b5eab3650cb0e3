"""DescribeDelegationToken, API 41: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct


@message(key=41, versions="1-3", flexible="2+")
class DescribeDelegationTokenRequest(Message):
    owners: list[DescribeDelegationTokenOwner] | None = field()


@struct
class DescribeDelegationTokenOwner(Struct):
    principal_type: string = field()
    principal_name: string = field()


@message(key=41, versions="1-3", flexible="2+")
class DescribeDelegationTokenResponse(Message):
    error_code: int16 = field()
    tokens: list[DescribedDelegationToken] = field()
    throttle_time_ms: int32 = field()


@struct
class DescribedDelegationToken(Struct):
    principal_type: string = field()
    principal_name: string = field()
    token_requester_principal_type: string = field("3+")
    token_requester_principal_name: string = field("3+")
    issue_timestamp: int64 = field()
    expiry_timestamp: int64 = field()
    max_timestamp: int64 = field()
    token_id: string = field()
    hmac: bytes = field()
    renewers: list[DescribedDelegationTokenRenewer] = field()


@struct
class DescribedDelegationTokenRenewer(Struct):
    principal_type: string = field()
    principal_name: string = field()
