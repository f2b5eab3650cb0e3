"""Batches of the metadata log: the records that one decision came to stand in one batch, if they must not be torn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from barnabas.coordination.cluster.records import MetadataRecord, decode_record, encode_record
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import Record, read_records

__all__ = ["build_metadata_batch", "read_metadata_batch"]


def build_metadata_batch(
    records: Sequence[MetadataRecord], *, base_offset: int, leader_epoch: int, now_ms: int
) -> bytes:
    values = (Record(value=encode_record(record), timestamp=now_ms) for record in records)
    return build_batch(values, base_offset=base_offset, leader_epoch=leader_epoch)


def read_metadata_batch(batch: Batch) -> Iterator[MetadataRecord]:
    """The records of one batch; of a control batch none, since those are the quorum's own. They still take offsets."""
    if batch.control:
        return
    for record in read_records(batch):
        if record.value is None:
            raise MalformedFrame(f"the metadata record at offset {record.offset} has no value")
        yield decode_record(record.value)
