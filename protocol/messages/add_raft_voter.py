"""AddRaftVoter, API 80: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct, uint16, uuid


@message(key=80, versions="0-1", flexible="0+")
class AddRaftVoterRequest(Message):
    cluster_id: string | None = field()
    timeout_ms: int32 = field()
    voter_id: int32 = field()
    voter_directory_id: uuid = field()
    listeners: list[Listener] = field()
    ack_when_committed: bool = field("1+", default=True)


@struct
class Listener(Struct):
    name: string = field()
    host: string = field()
    port: uint16 = field()


@message(key=80, versions="0-1", flexible="0+")
class AddRaftVoterResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field()
