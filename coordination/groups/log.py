"""Between decisions and bytes: batches of __consumer_offsets to append, and to replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from barnabas.coordination.groups.records import GroupRecord
from barnabas.coordination.groups.shard import GroupShard
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, Batch
from barnabas.protocol.compression import Compression
from barnabas.protocol.control import ControlRecordType, control_record_type
from barnabas.protocol.log_records import CONSUMER_OFFSETS, UnknownRecord
from barnabas.protocol.record import Record, read_records

__all__ = ["build_group_batch", "replay_batches"]


def build_group_batch(
    records: Sequence[GroupRecord],
    now_ms: int,
    *,
    compression: Compression = Compression.NONE,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
) -> bytes:
    """The records of one decision; `compression` is the broker's offsets.topic.compression.codec. With a producer, as
    part of its transaction."""
    return build_batch(
        [Record(record.key_bytes(), record.value_bytes(), timestamp=now_ms) for record in records],
        compression=compression,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=producer_id != NO_PRODUCER_ID,
    )


def replay_batches(
    shard: GroupShard, batches: Iterable[Batch], unknown: Callable[[UnknownRecord], None] | None = None
) -> None:
    """The log, from its start; `unknown` is told of records of types that this Kafka does not have, which are passed
    over as Kafka passes them over. `decide_loaded` follows, when all has been replayed."""
    for batch in batches:
        for record in read_records(batch):
            if batch.control:
                _replay_marker(shard, batch.producer_id, record)
                continue
            assert record.key is not None, "records of this topic have keys: it is compacted"
            try:
                key = CONSUMER_OFFSETS.decode_key(record.key)
                value = None if record.value is None else CONSUMER_OFFSETS.decode_value(key, record.value)[0]
            except UnknownRecord as error:
                if unknown is not None:
                    unknown(error)
                continue
            producer_id = batch.producer_id if batch.transactional else NO_PRODUCER_ID
            shard.replay(key, value, record.offset, producer_id)


def _replay_marker(shard: GroupShard, producer_id: int, record: Record) -> None:
    kind = control_record_type(record.key)
    if kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        shard.end_transaction(producer_id, committed=kind is ControlRecordType.COMMIT)
