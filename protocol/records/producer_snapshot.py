"""What Kafka keeps in the file of a log's producers: N.snapshot."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Data, Struct, data, field, int16, int32, int64, struct, uint32


@data(versions="1", flexible="none")
class ProducerSnapshot(Data):
    crc: uint32 = field()
    producer_entries: list[ProducerEntry] = field()


@struct
class ProducerEntry(Struct):
    producer_id: int64 = field()
    epoch: int16 = field()
    last_sequence: int32 = field()
    last_offset: int64 = field()
    offset_delta: int32 = field()
    timestamp: int64 = field()
    coordinator_epoch: int32 = field()
    current_txn_first_offset: int64 = field()
