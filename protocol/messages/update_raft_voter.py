"""UpdateRaftVoter, API 82: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, message, string, struct, uint16, uuid


@message(key=82, versions="0", flexible="0+")
class UpdateRaftVoterRequest(Message):
    cluster_id: string | None = field()
    current_leader_epoch: int32 = field()
    voter_id: int32 = field()
    voter_directory_id: uuid = field()
    listeners: list[Listener] = field()
    kraft_version_feature: KRaftVersionFeature = field()


@struct
class Listener(Struct):
    name: string = field()
    host: string = field()
    port: uint16 = field()


@struct
class KRaftVersionFeature(Struct):
    min_supported_version: int16 = field()
    max_supported_version: int16 = field()


@message(key=82, versions="0", flexible="0+")
class UpdateRaftVoterResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    current_leader: CurrentLeader | None = field(tag=0)


@struct
class CurrentLeader(Struct):
    leader_id: int32 = field(default=-1)
    leader_epoch: int32 = field(default=-1)
    host: string = field()
    port: int32 = field()
