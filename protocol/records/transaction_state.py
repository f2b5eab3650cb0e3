"""What Kafka keeps in __transaction_state."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Data, Struct, data, field, int8, int16, int32, int64, string, struct


@data(key=0, versions="0", flexible="none")
class TransactionLogKey(Data):
    transactional_id: string = field()


@data(key=0, versions="0-1", flexible="1+")
class TransactionLogValue(Data):
    producer_id: int64 = field()
    previous_producer_id: int64 = field("1+", default=-1, tag=0)
    next_producer_id: int64 = field("1+", default=-1, tag=1)
    producer_epoch: int16 = field()
    next_producer_epoch: int16 = field("1+", default=-1, tag=3)
    transaction_timeout_ms: int32 = field()
    transaction_status: int8 = field()
    transaction_partitions: list[PartitionsSchema] | None = field()
    transaction_last_update_timestamp_ms: int64 = field()
    transaction_start_timestamp_ms: int64 = field()
    client_transaction_version: int16 = field("1+", tag=2)


@struct
class PartitionsSchema(Struct):
    topic: string = field()
    partition_ids: list[int32] = field()
