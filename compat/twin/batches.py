"""Record batches for requests, made by kafka-python, and those of answers as plain values."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import Any

from kafka.record import MemoryRecords
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder
from kafka.record.util import calc_crc32c

__all__ = [
    "ATTRIBUTES",
    "BASE_OFFSET",
    "COUNT",
    "CRC",
    "LAST_OFFSET",
    "LENGTH",
    "MAGIC",
    "MAX_TIMESTAMP",
    "PRODUCER",
    "RECORDS",
    "batch",
    "batches_in",
    "changed",
    "now_ms",
    "old_batch",
]

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
SIZE = struct.Struct(">i")
OVERHEAD_BYTES = 12
BASE_OFFSET, LENGTH, MAGIC, CRC, ATTRIBUTES, LAST_OFFSET = 0, 8, 16, 17, 21, 23
MAX_TIMESTAMP, PRODUCER, COUNT, RECORDS = 35, 43, 57, 61
"""Where in a batch they stand."""
FRESH_MS = 600_000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def batch(
    *values: bytes | None,
    key: bytes | None = None,
    keys: Sequence[bytes | None] = (),
    codec: str = "none",
    timestamp: int | None = None,
    times: Sequence[int] = (),
    headers: Sequence[tuple[str, bytes | None]] = (),
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> bytes:
    """One batch of magic 2. `keys` are one for each value, and `times` what is added to `timestamp` for each."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=CODECS[codec],
        is_transactional=transactional,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        batch_size=1 << 24,
    )
    stamp = now_ms() if timestamp is None else timestamp
    for number, value in enumerate(values):
        own_key = keys[number] if keys else key
        builder.append(
            number, timestamp=stamp + (times[number] if times else 0), key=own_key, value=value, headers=list(headers)
        )
    return bytes(builder.build())


def changed(data: bytes, place: int, replacement: bytes, *, signed: bool = True) -> bytes:
    """With other bytes at a place, and the checksum that belongs to them."""
    other = data[:place] + replacement + data[place + len(replacement) :]
    return other[:CRC] + calc_crc32c(other[ATTRIBUTES:]).to_bytes(4) + other[ATTRIBUTES:] if signed else other


def old_batch(magic: int, *values: bytes, timestamp: int, codec: str = "none") -> bytes:
    """Messages of magic 0 or 1, as they were before there were batches."""
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=CODECS[codec], batch_size=1 << 24)
    for number, value in enumerate(values):
        builder.append(number, timestamp=timestamp if magic else None, key=None, value=value)
    return bytes(builder.build())


def batches_in(data: bytes) -> list[dict[str, Any]]:
    """Whole batches with what a consumer sees of them, and how much there is of the one behind them, which is cut."""
    found: list[dict[str, Any]] = []
    whole, rest = _whole(data)
    for each in whole:
        one = MemoryRecords(each).next_batch()
        header = {
            "offset": one.base_offset,
            "bytes": len(each),
            "epoch": one.leader_epoch,
            "magic": one.magic,
            "valid": one.validate_crc(),
            "codec": one.compression_type,
            "transactional": one.is_transactional,
            "control": one.is_control_batch,
            "time": "append" if one.timestamp_type else "create",
            "last": one.last_offset_delta,
            "MaxTimestampMs": one.max_timestamp,
            "ProducerId": one.producer_id,
            "producer": (one.producer_epoch, one.base_sequence),
        }
        try:
            header["records"] = [(r.offset, _told(r.timestamp), r.key, r.value, r.headers) for r in one]
        except Exception as error:  # noqa: BLE001 - each codec raises what it likes
            # A broker may take what is packed as it is, whatever it is.
            header["records"], header["unreadable"] = each[RECORDS:], type(error).__name__
        found.append(header)
    return [*found, {"cut": rest}] if rest else found


def _told(timestamp: int) -> int | str:
    """One of the broker's clock is `now`."""
    now = now_ms()
    return "now" if now - FRESH_MS < timestamp <= now else timestamp


def _whole(data: bytes) -> tuple[list[bytes], int]:
    found, position = [], 0
    while len(data) - position > MAGIC:
        end = position + OVERHEAD_BYTES + SIZE.unpack_from(data, position + LENGTH)[0]
        if end > len(data):
            break
        found.append(data[position:end])
        position = end
    return found, len(data) - position
