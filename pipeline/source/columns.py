"""Records as Arrow columns, in the schema of Spark's own Kafka source."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from barnabas.pipeline.source.errors import SourceError
from barnabas.protocol.record import Record

__all__ = ["HEADERS", "arrow_schema", "batch_of", "batch_of_records", "microseconds"]

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_FIELDS = [
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", pa.timestamp("us", tz="UTC")),
    ("timestampType", pa.int32()),
]
_PLAIN = pa.schema(_FIELDS)
_WITH_HEADERS = pa.schema([*_FIELDS, ("headers", HEADERS)])
_LARGEST_MS = (2**63 - 1) // 1000


def arrow_schema(*, headers: bool) -> pa.Schema:
    return _WITH_HEADERS if headers else _PLAIN


def batch_of(
    topic: str,
    partition: int,
    keys: pa.Array,
    values: pa.Array,
    offsets: np.ndarray,
    timestamps_ms: np.ndarray,
    timestamp_types: np.ndarray,
    headers: pa.Array | None,
) -> pa.RecordBatch:
    count = len(offsets)
    columns = [
        keys,
        values,
        pa.repeat(pa.scalar(topic), count),
        pa.repeat(pa.scalar(partition, pa.int32()), count),
        pa.array(offsets),
        microseconds(timestamps_ms, offsets, f"{topic}-{partition}"),
        pa.array(timestamp_types),
    ]
    if headers is not None:
        columns.append(headers)
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(headers=headers is not None))


def batch_of_records(
    topic: str, partition: int, records: Sequence[Record], timestamp_type: int, *, headers: bool
) -> pa.RecordBatch:
    """Record by record: for batches of the formats before Kafka 0.11, which are rare."""
    lists = [[{"key": name, "value": value} for name, value in each.headers] or None for each in records]
    return batch_of(
        topic,
        partition,
        pa.array([each.key for each in records], pa.binary()),
        pa.array([each.value for each in records], pa.binary()),
        np.array([each.offset for each in records], np.int64),
        np.array([each.timestamp for each in records], np.int64),
        np.full(len(records), timestamp_type, np.int32),
        pa.array(lists, HEADERS) if headers else None,
    )


def microseconds(timestamps_ms: np.ndarray, offsets: np.ndarray, partition: str) -> pa.Array:
    """Spark's timestamps; SourceError for one that these cannot hold, as a producer's in nanoseconds is."""
    outside = np.flatnonzero((timestamps_ms > _LARGEST_MS) | (timestamps_ms < -_LARGEST_MS))
    if outside.size:
        raise SourceError(
            f"The record at offset {offsets[outside[0]]} of {partition} has the timestamp {timestamps_ms[outside[0]]} "
            "in milliseconds, which Spark's timestamps cannot hold: begin behind it, by startingOffsets."
        )
    return pa.array(timestamps_ms * 1000).cast(pa.timestamp("us", tz="UTC"))
