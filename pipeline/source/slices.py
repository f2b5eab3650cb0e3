"""Many varints of a buffer read at once, and many pieces of it as Arrow columns, without a step in Python for each."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from barnabas.protocol.errors import MalformedFrame

__all__ = ["SLACK", "Pieces", "slices", "varints"]

SLACK = bytes(64)
"""Behind a buffer, so that the few numbers of a record that ends early are read before that is found."""

Pieces = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Where they begin, where they end, and which of them are null."""


def varints(data: np.ndarray, positions: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """The signed values at these positions, and the positions behind them."""
    byte = data[positions]
    values = (byte & 0x7F).astype(np.uint64)
    behind: np.ndarray = positions + 1
    longer = np.flatnonzero(byte >= 0x80)
    shift = 7
    while longer.size:
        if shift >= bits:
            raise MalformedFrame(f"a varint does not end within {bits} bits")
        byte = data[behind[longer]]
        if shift + 7 > bits and (byte & 0x7F).max() >> (bits - shift):
            raise MalformedFrame(f"a varint exceeds {bits} bits")
        values[longer] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        behind[longer] += 1
        longer = longer[byte >= 0x80]
        shift += 7
    one = np.uint64(1)
    return ((values >> one) ^ (np.uint64(0) - (values & one))).view(np.int64), behind


def slices(packed: bytes, *columns: Pieces) -> list[pa.Array]:
    """A column of bytes for each. All begin in the order of the columns, and the next row behind the last column: so
    the pieces and what lies between them are one Arrow array, whose every second element is wanted."""
    rows = len(columns[0][0])
    width = 2 * len(columns)
    edges: np.ndarray = np.empty((rows, width), np.int32)
    for number, (begins, ends, _) in enumerate(columns):
        edges[:, 2 * number] = begins
        edges[:, 2 * number + 1] = ends
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(packed)]
    pieces = pa.BinaryArray.from_buffers(pa.binary(), rows * width - 1, buffers)
    first: np.ndarray = np.arange(0, rows * width, width, dtype=np.int32)
    return [
        pieces.take(pa.array(first + 2 * number, mask=nulls if nulls.any() else None))
        for number, (_, _, nulls) in enumerate(columns)
    ]
