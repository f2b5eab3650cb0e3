"""The headers of many records as one Arrow column: the first of every record at once, then the second of every one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from barnabas.pipeline.source.columns import HEADERS
from barnabas.pipeline.source.slices import slices, varints
from barnabas.protocol.errors import MalformedFrame

__all__ = ["header_column"]


def header_column(
    packed: bytes, data: np.ndarray, counts: np.ndarray, begins: np.ndarray, ends: np.ndarray
) -> pa.Array:
    """Null for a record without, as in Spark's own source."""
    found = _find(data, counts, begins, ends)
    if not found.size:
        return pa.nulls(len(counts), HEADERS)
    # In the order in which they lie there, which is that of the records.
    keys_at, keys_end, values_at, values_end, nulls = found[:, np.argsort(found[0])]
    keys, values = slices(
        packed, (keys_at, keys_end, np.zeros(len(keys_at), bool)), (values_at, values_end, nulls.astype(bool))
    )
    each = pa.StructArray.from_arrays([_text(keys), values], fields=list(HEADERS.value_type))
    offsets: np.ndarray = np.append(0, np.cumsum(counts)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), each, type=HEADERS, mask=pa.array(counts == 0))


def _find(data: np.ndarray, counts: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Rows of: where keys and values begin and end, and which values are null."""
    records = np.flatnonzero(counts)
    at, left, ends = begins[records], counts[records], ends[records]
    rounds = []
    while at.size:
        key_sizes, keys_at = varints(data, at, 32)
        keys_end = keys_at + key_sizes
        if (key_sizes < 0).any() or (keys_end > ends).any():
            raise MalformedFrame("the key of a record's header is null, or exceeds it")
        value_sizes, values_at = varints(data, keys_end, 32)
        at = values_at + np.maximum(value_sizes, 0)
        left = left - 1
        if ((at > ends) | ((left == 0) & (at != ends))).any():
            raise MalformedFrame("a record has other headers than its size")
        rounds.append(np.stack([keys_at, keys_end, values_at, at, value_sizes < 0]))
        more = np.flatnonzero(left)
        at, left, ends = at[more], left[more], ends[more]
    return np.concatenate(rounds, axis=1) if rounds else np.empty((5, 0), np.int64)


def _text(keys: pa.Array) -> pa.Array:
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:  # bad UTF-8 becomes U+FFFD, as in Java
        return pa.array([each.decode(errors="replace") for each in keys.to_pylist()], pa.string())
