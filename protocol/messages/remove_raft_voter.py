"""RemoveRaftVoter, API 81: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int16, int32, message, string, uuid


@message(key=81, versions="0", flexible="0+")
class RemoveRaftVoterRequest(Message):
    cluster_id: string | None = field()
    voter_id: int32 = field()
    voter_directory_id: uuid = field()


@message(key=81, versions="0", flexible="0+")
class RemoveRaftVoterResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field()
