"""What Kafka keeps in control records: the end of a transaction, and what raft writes into __cluster_metadata."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Data, Struct, data, field, int16, int32, int64, string, struct, uint16, uuid


@data(versions="0", flexible="none")
class ControlRecordTypeSchema(Data):
    type: int16 = field()


@data(versions="0", flexible="none")
class EndTxnMarker(Data):
    coordinator_epoch: int32 = field()


@data(versions="0", flexible="0+")
class KRaftVersionRecord(Data):
    version: int16 = field()
    kraft_version: int16 = field()


@data(versions="0-1", flexible="0+")
class LeaderChangeMessage(Data):
    version: int16 = field()
    leader_id: int32 = field()
    voters: list[Voter] = field()
    granting_voters: list[Voter] = field()


@struct
class Voter(Struct):
    voter_id: int32 = field()
    voter_directory_id: uuid = field("1+")


@data(versions="0", flexible="0+")
class SnapshotFooterRecord(Data):
    version: int16 = field()


@data(versions="0", flexible="0+")
class SnapshotHeaderRecord(Data):
    version: int16 = field()
    last_contained_log_timestamp: int64 = field()


@data(versions="0", flexible="0+")
class VotersRecord(Data):
    version: int16 = field()
    voters: list[VotersRecordVoter] = field()


@struct
class VotersRecordVoter(Struct):
    voter_id: int32 = field()
    voter_directory_id: uuid = field()
    endpoints: list[Endpoint] = field()
    kraft_version_feature: KRaftVersionFeature = field()


@struct
class Endpoint(Struct):
    name: string = field()
    host: string = field()
    port: uint16 = field()


@struct
class KRaftVersionFeature(Struct):
    min_supported_version: int16 = field()
    max_supported_version: int16 = field()
