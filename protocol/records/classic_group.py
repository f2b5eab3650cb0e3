"""What Kafka keeps in __consumer_offsets: committed offsets and classic groups."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Data, Struct, data, field, int32, int64, string, struct, uuid


@data(key=0, versions="0", flexible="none")
class LegacyOffsetCommitKey(Data):
    group: string = field()
    topic: string = field()
    partition: int32 = field()


@data(key=0, versions="0", flexible="none")
class LegacyOffsetCommitValue(Data):
    offset: int64 = field()
    metadata: string = field()
    commit_timestamp: int64 = field()


@data(key=1, versions="0", flexible="none")
class OffsetCommitKey(Data):
    group: string = field()
    topic: string = field()
    partition: int32 = field()


@data(key=1, versions="0-4", flexible="4+")
class OffsetCommitValue(Data):
    offset: int64 = field()
    leader_epoch: int32 = field("3+", default=-1, ignorable=True)
    metadata: string = field()
    commit_timestamp: int64 = field()
    expire_timestamp: int64 = field("1", default=-1, ignorable=True)
    topic_id: uuid = field("4+", tag=0, ignorable=True)


@data(key=2, versions="0", flexible="none")
class GroupMetadataKey(Data):
    group: string = field()


@data(key=2, versions="0-4", flexible="4+")
class GroupMetadataValue(Data):
    protocol_type: string = field()
    generation: int32 = field()
    protocol: string | None = field()
    leader: string | None = field()
    current_state_timestamp: int64 = field("2+", default=-1, ignorable=True)
    members: list[MemberMetadata] = field()


@struct
class MemberMetadata(Struct):
    member_id: string = field()
    group_instance_id: string | None = field("3+", default=None, ignorable=True)
    client_id: string = field()
    client_host: string = field()
    rebalance_timeout: int32 = field("1+", default=-1, ignorable=True)
    session_timeout: int32 = field()
    subscription: bytes = field()
    assignment: bytes = field()
