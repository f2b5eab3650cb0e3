"""What Kafka keeps in __share_group_state."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Data, Struct, data, field, int8, int16, int32, int64, string, struct, uuid


@data(key=0, versions="0", flexible="none")
class ShareSnapshotKey(Data):
    group_id: string = field()
    topic_id: uuid = field()
    partition: int32 = field()


@data(key=0, versions="0", flexible="0+")
class ShareSnapshotValue(Data):
    snapshot_epoch: int32 = field()
    state_epoch: int32 = field()
    leader_epoch: int32 = field()
    start_offset: int64 = field()
    delivery_complete_count: int32 = field(default=-1, tag=0)
    create_timestamp: int64 = field()
    write_timestamp: int64 = field()
    state_batches: list[StateBatch] = field()


@struct
class StateBatch(Struct):
    first_offset: int64 = field()
    last_offset: int64 = field()
    delivery_state: int8 = field()
    delivery_count: int16 = field()


@data(key=1, versions="0", flexible="none")
class ShareUpdateKey(Data):
    group_id: string = field()
    topic_id: uuid = field()
    partition: int32 = field()


@data(key=1, versions="0", flexible="0+")
class ShareUpdateValue(Data):
    snapshot_epoch: int32 = field()
    leader_epoch: int32 = field()
    start_offset: int64 = field()
    delivery_complete_count: int32 = field(default=-1, tag=0)
    state_batches: list[StateBatch] = field()
