"""From the batch that a producer sent to the one that is kept: checked by the topic's rules, and packed as it wants.

The records of a batch are looked at only where its header cannot show what the topic asks for: keys for compaction, or
another compression.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batch_rules import check_batch, check_batch_timestamps, check_records
from barnabas.protocol.batches import Batch, TimestampType, set_max_timestamp
from barnabas.protocol.compression import Compression
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.record import Record, read_records
from barnabas.storage.topic_config import TopicConfig

__all__ = ["prepared"]

_AS_IT_CAME = "producer"


def prepared(batch: Batch, config: TopicConfig, now_ms: int) -> Batch:
    """KafkaError refuses it."""
    check_batch(batch, config.max_message_bytes)
    timestamp_type = (
        TimestampType.CREATE_TIME if config.message_timestamp_type == "CreateTime" else TimestampType.LOG_APPEND_TIME
    )
    repacked = config.compression_type != _AS_IT_CAME and _target(config) is not batch.compression
    if not (config.compact or repacked):
        try:
            check_batch_timestamps(
                batch,
                timestamp_type=timestamp_type,
                now_ms=now_ms,
                before_max_ms=config.message_timestamp_before_max_ms,
                after_max_ms=config.message_timestamp_after_max_ms,
            )
        except KafkaError:
            pass  # each record is asked now, and those that are wrong are named
        else:
            return batch if batch.timestamp_type is timestamp_type else _typed(batch, timestamp_type)
    records = list(read_records(batch))
    check_records(
        batch,
        records,
        compacted=config.compact,
        timestamp_type=timestamp_type,
        now_ms=now_ms,
        before_max_ms=config.message_timestamp_before_max_ms,
        after_max_ms=config.message_timestamp_after_max_ms,
        repacked=repacked,
    )
    return _repacked(batch, records, config) if repacked else batch


def _typed(batch: Batch, timestamp_type: TimestampType) -> Batch:
    """With the topic's type of timestamps, which the log itself writes only where the broker sets them."""
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        return batch
    data = bytearray(memoryview(batch.buffer)[batch.position : batch.end])
    set_max_timestamp(data, 0, timestamp_type, batch.max_timestamp)
    return Batch(data)


def _target(config: TopicConfig) -> Compression:
    name = config.compression_type
    return Compression.NONE if name == "uncompressed" else Compression[name.upper()]


def _repacked(batch: Batch, records: Sequence[Record], config: TopicConfig) -> Batch:
    for number, record in enumerate(records):
        record.offset = number
    target = _target(config)
    levels = {
        Compression.GZIP: config.compression_gzip_level,
        Compression.LZ4: config.compression_lz4_level,
        Compression.ZSTD: config.compression_zstd_level,
    }
    data = build_batch(
        records,
        compression=target,
        compression_level=levels.get(target),
        timestamp_type=batch.timestamp_type,
        append_time_ms=batch.max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        transactional=batch.transactional,
    )
    if len(data) > config.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the record batch has {len(data)} bytes when packed as the topic wants, {config.max_message_bytes} are "
            "allowed",
        )
    return Batch(data)
