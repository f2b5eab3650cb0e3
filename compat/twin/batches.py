"""Record batches for requests, made by kafka-python, and those of answers as plain values."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import Any

from kafka.record import MemoryRecords
from kafka.record.default_records import DefaultRecordBatchBuilder

__all__ = ["batch", "batches_in", "now_ms"]

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
LENGTH = struct.Struct(">i")
OVERHEAD_BYTES = 12
MAGIC_AT = 16
FRESH_MS = 600_000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def batch(
    *values: bytes | None,
    key: bytes | None = None,
    codec: str = "none",
    timestamp: int | None = None,
    headers: Sequence[tuple[str, bytes]] = (),
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> bytes:
    """One batch of magic 2."""
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
        builder.append(number, timestamp=stamp, key=key, value=value, headers=list(headers))
    return bytes(builder.build())


def batches_in(data: bytes) -> list[Any]:
    """Whole batches with what a consumer sees of them; a time of the broker's clock is `now`."""
    found = []
    for each in _whole(data):
        records = MemoryRecords(each)
        one = records.next_batch()
        header = {
            "offset": one.base_offset,
            "epoch": one.leader_epoch,
            "codec": one.compression_type,
            "transactional": one.is_transactional,
            "control": one.is_control_batch,
            "time": "append" if one.timestamp_type else "create",
            "bytes": len(each),
        }
        now = now_ms()
        header["records"] = [
            (r.offset, "now" if now - FRESH_MS < r.timestamp <= now else r.timestamp, r.key, r.value, r.headers)
            for r in one
        ]
        found.append(header)
    return found


def _whole(data: bytes) -> list[bytes]:
    found, position = [], 0
    while len(data) - position > MAGIC_AT:
        end = position + OVERHEAD_BYTES + LENGTH.unpack_from(data, position + 8)[0]
        if end > len(data):
            break
        found.append(data[position:end])
        position = end
    return found
