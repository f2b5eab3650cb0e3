"""What a compaction leaves of one batch: all of it as it lies there, some of its records, its header alone, or nothing.

As in Kafka:

- The last record of each key stays, and all behind what the map of offsets knows. Records without a key go.
- A tombstone stays until the batch's delete horizon has passed. The first compaction that meets one writes the
  horizon into the header, in the place of the base timestamp, and all timestamps count from it then. Markers of
  transactions of which nothing is left go by the same clock.
- The batch with a producer's last sequence number, or its last epoch, is kept as a header without records.
- Offsets do not change: a batch keeps its first and last one, whatever goes.
- A batch of an old format that stays is written in the new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.protocol.batch_builder import build_batch, build_empty_batch
from barnabas.protocol.batches import (
    ATTRIBUTES_AT,
    CRC_AT,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    Attributes,
    Batch,
    TimestampType,
)
from barnabas.protocol.compression import compress, decompress
from barnabas.protocol.record import Record, read_records
from barnabas.protocol.varint import varint
from barnabas.storage.compaction_transactions import CleanedTransactions
from barnabas.storage.offset_map import OffsetMap
from barnabas.storage.record_spans import Span, record_spans

__all__ = ["CompactionFilter", "LastRecord", "Retained"]

_MAX_INT64 = 2**63 - 1


class LastRecord(NamedTuple):
    """Of a producer that is still known."""

    data_offset: int
    """The last offset of its last batch; -1 if only markers are known."""
    producer_epoch: int


class Retained(NamedTuple):
    batch: Batch
    data: bytes | memoryview


class CompactionFilter:
    """One round of one log; `retain` is asked for every batch in turn."""

    def __init__(
        self,
        offsets: OffsetMap,
        transactions: CleanedTransactions,
        last_records: Mapping[int, LastRecord],
        *,
        end_offset: int,
        now_ms: int,
        delete_retention_ms: int,
    ) -> None:
        self._offsets = offsets
        self._end_offset = end_offset
        """Of what may be compacted."""
        self._transactions = transactions
        self._last_records = last_records
        self._now_ms = now_ms
        horizon_ms = now_ms + delete_retention_ms
        self._horizon_ms = horizon_ms if horizon_ms <= _MAX_INT64 else None
        """None: tombstones stay for ever."""
        self.keep_old_tombstones = True
        """Of batches that are too old to have a horizon; who reads another segment says so anew."""
        self.keyless_records = 0

    def retain(self, batch: Batch, *, ends_segment: bool) -> Retained | None:
        """What is to be written; `ends_segment` says that no batch follows in the new segment.

        Kafka keeps a header of the last batch of all, so that it is known how far the log went. Here that of each
        segment's last batch stays, of no producer and no transaction: whoever completes an interrupted swap, or looks
        after a power cut for batches that are missing, then sees that the segment ends where the next one begins.
        """
        discardable = self._transactions.is_discardable(batch)
        horizon_ms = batch.delete_horizon_ms
        expired = horizon_ms is not None and horizon_ms <= self._now_ms
        retained = None
        if not discardable or (batch.control and not expired):
            retained = self._of_old_batch(batch) if batch.magic < 2 else self._of_batch(batch, expired, discardable)
        if retained is not None:
            return retained
        if batch.next_offset == self._end_offset or self._is_last_of_its_producer(batch):
            return _header_of(batch)
        return _bare_header_of(batch) if ends_segment else None

    def _is_last_of_its_producer(self, batch: Batch) -> bool:
        last = self._last_records.get(batch.producer_id) if batch.producer_id >= 0 else None
        if last is None:
            return False
        if last.data_offset >= 0:
            return batch.last_offset == last.data_offset
        return batch.control and batch.producer_epoch == last.producer_epoch

    def _of_batch(self, batch: Batch, expired: bool, discardable: bool) -> Retained | None:
        if not batch.record_count:
            return None
        data = decompress(batch.compression, batch.records)
        kept = []
        tombstones = False
        base_offset = batch.base_offset
        for span in record_spans(data, batch.record_count):
            if batch.control or self._keeps(span.key, base_offset + span.offset_delta, span.has_value or not expired):
                kept.append(span)
                tombstones = tombstones or not span.has_value
        if not kept:
            return None
        horizon_ms = batch.delete_horizon_ms
        if horizon_ms is None and (tombstones or discardable):
            horizon_ms = self._horizon_ms
        if len(kept) == batch.record_count and horizon_ms == batch.delete_horizon_ms:
            return Retained(batch, memoryview(batch.buffer)[batch.position : batch.end])
        rebuilt = _rebuilt(batch, data, kept, horizon_ms)
        return Retained(Batch(rebuilt), rebuilt)

    def _of_old_batch(self, batch: Batch) -> Retained | None:
        kept = []
        tombstones = False
        for record in read_records(batch):
            if self._keeps(record.key, record.offset, record.value is not None or self.keep_old_tombstones):
                kept.append(record)
                tombstones = tombstones or record.value is None
        if not kept:
            return None
        rebuilt = _renewed(batch, kept, self._horizon_ms if tombstones else None)
        return Retained(Batch(rebuilt), rebuilt)

    def _keeps(self, key: bytes | None, offset: int, may_stay: bool) -> bool:
        if offset > self._offsets.latest_offset:
            return True
        if key is None:
            self.keyless_records += 1
            return False
        return may_stay and offset >= self._offsets.get(key)


def _header_of(batch: Batch) -> Retained:
    header = build_empty_batch(
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        max_timestamp=batch.max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        timestamp_type=batch.timestamp_type,
        transactional=batch.transactional,
        control=batch.control,
        leader_epoch=batch.partition_leader_epoch,
    )
    return Retained(Batch(header), header)


def _bare_header_of(batch: Batch) -> Retained:
    header = build_empty_batch(
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        max_timestamp=batch.max_timestamp,
        producer_id=NO_PRODUCER_ID,
        producer_epoch=NO_PRODUCER_EPOCH,
        base_sequence=NO_SEQUENCE,
        timestamp_type=batch.timestamp_type,
        leader_epoch=batch.partition_leader_epoch,
    )
    return Retained(Batch(header), header)


def _rebuilt(batch: Batch, data: bytes, kept: list[Span], horizon_ms: int | None) -> bytes:
    """A batch with those records alone. Where their timestamps count from what they did before, their bytes are copied;
    elsewhere all behind the timestamp is."""
    appended_ms = batch.max_timestamp if batch.attributes & Attributes.LOG_APPEND_TIME else None
    old_base = batch.base_timestamp
    first_ms = old_base + kept[0].timestamp_delta if appended_ms is None else appended_ms
    base_timestamp = first_ms if horizon_ms is None else horizon_ms
    if appended_ms is not None:
        parts = [_with_delta(data, span, appended_ms - base_timestamp) for span in kept]
        max_timestamp = appended_ms
    else:
        shift = old_base - base_timestamp
        if shift:
            parts = [_with_delta(data, span, span.timestamp_delta + shift) for span in kept]
        else:
            parts = [data[span.start : span.end] for span in kept]
        max_timestamp = max(NO_TIMESTAMP, old_base + max(span.timestamp_delta for span in kept))
    attributes = batch.attributes & Attributes.KNOWN & ~Attributes.DELETE_HORIZON
    if horizon_ms is not None:
        attributes |= Attributes.DELETE_HORIZON
    body = compress(batch.compression, b"".join(parts))
    return _assembled(batch, attributes, base_timestamp, max_timestamp, len(kept), body)


def _with_delta(data: bytes, span: Span, timestamp_delta: int) -> bytes:
    delta = varint(timestamp_delta)
    length = 1 + len(delta) + span.end - span.rest
    return b"".join((varint(length), data[span.attributes : span.attributes + 1], delta, data[span.rest : span.end]))


def _assembled(
    batch: Batch, attributes: int, base_timestamp: int, max_timestamp: int, record_count: int, body: bytes
) -> bytes:
    from crc32c import crc32c  # as in Batch.compute_crc

    header = bytearray(
        HEADER.pack(
            batch.base_offset,
            HEADER_BYTES - LOG_OVERHEAD_BYTES + len(body),
            batch.partition_leader_epoch,
            2,
            0,
            attributes,
            batch.last_offset_delta,
            base_timestamp,
            max_timestamp,
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            record_count,
        )
    )
    checksum = crc32c(body, crc32c(header[ATTRIBUTES_AT:]))
    header[CRC_AT:ATTRIBUTES_AT] = checksum.to_bytes(4, "big")
    return b"".join((header, body))


def _renewed(batch: Batch, kept: list[Record], horizon_ms: int | None) -> bytes:
    """Messages of an old format as a batch of the new one, which begins with the first of them."""
    by_broker = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    return build_batch(
        kept,
        base_offset=kept[0].offset,
        compression=batch.compression,
        timestamp_type=TimestampType.LOG_APPEND_TIME if by_broker else TimestampType.CREATE_TIME,
        append_time_ms=batch.max_timestamp if by_broker else NO_TIMESTAMP,
        leader_epoch=batch.partition_leader_epoch,
        delete_horizon_ms=horizon_ms,
    )
