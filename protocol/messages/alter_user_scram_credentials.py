"""AlterUserScramCredentials, API 51: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, message, string, struct


@message(key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsRequest(Message):
    deletions: list[ScramCredentialDeletion] = field()
    upsertions: list[ScramCredentialUpsertion] = field()


@struct
class ScramCredentialDeletion(Struct):
    name: string = field()
    mechanism: int8 = field()


@struct
class ScramCredentialUpsertion(Struct):
    name: string = field()
    mechanism: int8 = field()
    iterations: int32 = field()
    salt: bytes = field()
    salted_password: bytes = field()


@message(key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsResponse(Message):
    throttle_time_ms: int32 = field()
    results: list[AlterUserScramCredentialsResult] = field()


@struct
class AlterUserScramCredentialsResult(Struct):
    user: string = field()
    error_code: int16 = field()
    error_message: string | None = field()
