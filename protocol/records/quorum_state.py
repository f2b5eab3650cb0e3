"""What Kafka keeps in the file quorum-state of __cluster_metadata."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Data, Struct, data, field, int32, int64, string, struct, uuid


@data(versions="0-1", flexible="0+")
class QuorumStateData(Data):
    cluster_id: string = field("0")
    leader_id: int32 = field(default=-1)
    leader_epoch: int32 = field(default=-1)
    voted_id: int32 = field(default=-1)
    voted_directory_id: uuid = field("1+")
    applied_offset: int64 = field("0")
    current_voters: list[Voter] | None = field("0")


@struct
class Voter(Struct):
    voter_id: int32 = field("0")
