"""Records on their way from Spark to a writer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.pipeline.writing import Row

__all__ = ["CONTENT", "as_row", "size_of"]

CONTENT = (
    "key",
    "value",
    # Two lists go to Python in half the time of one with structs.
    "headers.key AS header_keys",
    "headers.value AS header_values",
    "unix_millis(timestamp) AS timestamp_ms",
)
"""What a record has wherever it is, as SQL expressions."""


def as_row(topic: str, partition: int, content: Sequence[Any]) -> Row:
    key, value, header_keys, header_values, timestamp_ms = content
    headers: tuple[tuple[str, bytes | None], ...] = ()
    if header_keys:
        values = (None if each is None else bytes(each) for each in header_values)
        headers = tuple(zip(header_keys, values, strict=True))
    return Row(topic, _bytes(key), _bytes(value), headers, timestamp_ms, partition)


def _bytes(given: bytearray | None) -> bytes | None:
    return None if given is None else bytes(given)


def size_of(row: Row) -> int:
    return len(row.key or b"") + len(row.value or b"")
