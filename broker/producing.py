"""From the batch that a producer sent to the one that is kept: checked by the topic's rules, and packed as it wants.

The records of a batch are looked at only where its header cannot show what the topic asks for: keys for compaction, or
another compression. Where they are many, that is not done while everybody waits: a few kilobytes may unpack to millions
of records, and whoever sends them may mean it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import trio

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batch_rules import check_batch, check_batch_timestamps, check_records, produced_batch
from barnabas.protocol.batches import Batch, TimestampType, set_max_timestamp
from barnabas.protocol.compression import Compression
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.record import Record, read_records
from barnabas.protocol.varint import Bytes
from barnabas.storage.topic_config import TopicConfig

__all__ = ["TakesLong", "prepared", "prepared_in_a_thread"]

AT_ONCE = 1_000
"""Records that are looked at in some milliseconds."""
AT_ONCE_BYTES = 256 * 1024
"""The same for what a batch unpacks to."""
POLITE_EVERY, POLITE_S = 200, 0.000_05
"""Records, half a millisecond's worth, and the shortest sleep."""
MOST_REPACKED = 1 << 19
"""Records that are in memory one by one, since all have to be packed anew: a hundred megabytes."""

_AS_IT_CAME = "producer"


class TakesLong(Exception):  # noqa: N818 - what has to be done elsewhere
    """Too many records to be looked at at once."""


def prepared(batch: Batch, config: TopicConfig, now_ms: int, *, at_once: bool = True) -> Batch:
    """KafkaError refuses it. TakesLong if it wants to be called in a thread, without `at_once`."""
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
    records = _few_records(batch) if at_once else _all_records(batch) if repacked else _politely(batch)
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
    return _repacked(batch, cast("Sequence[Record]", records), config) if repacked else batch


_one_at_a_time: trio.lowlevel.RunVar[trio.CapacityLimiter] = trio.lowlevel.RunVar("one batch at a time")
"""What a batch unpacks to may take a hundred megabytes."""


async def prepared_in_a_thread(
    records: Bytes, version: int, config: TopicConfig, now_ms: int
) -> Callable[[Batch, TopicConfig, int], Batch]:
    """While others are served. What comes back is asked in the place of `prepared` then, and knows the answer."""
    try:
        limiter = _one_at_a_time.get()
    except LookupError:
        limiter = trio.CapacityLimiter(1)
        _one_at_a_time.set(limiter)

    def prepare() -> Batch | KafkaError:
        try:
            return prepared(produced_batch(records, version), config, now_ms, at_once=False)
        except KafkaError as error:
            return error

    ready = await trio.to_thread.run_sync(prepare, limiter=limiter)

    def known(_batch: Batch, _config: TopicConfig, _now_ms: int) -> Batch:
        if isinstance(ready, KafkaError):
            raise ready
        return ready

    return known


def _few_records(batch: Batch) -> Sequence[Record]:
    if batch.record_count > AT_ONCE:
        raise TakesLong
    try:
        return list(read_records(batch, AT_ONCE_BYTES))
    except MalformedFrame:
        raise TakesLong from None  # it unpacks to more than that, or to nothing: who has the time finds out


def _politely(batch: Batch) -> Iterator[Record]:
    """A thread that only computes gives Python's lock away every five milliseconds, and the event loop asks for it
    several times in each request: it is given a chance more often."""
    for number, record in enumerate(read_records(batch)):
        if number % POLITE_EVERY == 0:
            time.sleep(POLITE_S)
        yield record


def _all_records(batch: Batch) -> Sequence[Record]:
    if batch.record_count > MOST_REPACKED:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the record batch has {batch.record_count} records, {MOST_REPACKED} can be packed as the topic wants",
        )
    try:
        return list(_politely(batch))
    except MalformedFrame as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from None


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
