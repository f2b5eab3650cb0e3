"""DescribeUserScramCredentials, API 50: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, message, string, struct


@message(key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest(Message):
    users: list[UserName] | None = field()


@struct
class UserName(Struct):
    name: string = field()


@message(key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field()
    results: list[DescribeUserScramCredentialsResult] = field()


@struct
class DescribeUserScramCredentialsResult(Struct):
    user: string = field()
    error_code: int16 = field()
    error_message: string | None = field()
    credential_infos: list[CredentialInfo] = field()


@struct
class CredentialInfo(Struct):
    mechanism: int8 = field()
    iterations: int32 = field()
