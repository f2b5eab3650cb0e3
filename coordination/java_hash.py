"""String.hashCode and the order of a HashMap: where Kafka leaves a choice to them, clients see which it was.

The hash of a group's id is its partition of __consumer_offsets, that of a topic says which of several fetchers follows
it. The order settles which of two protocols with as many votes a group takes, and which member leads when the leader is
gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

__all__ = ["java_hash", "map_order", "partition_of_group"]

_SMALLEST_TABLE = 16
_REMEMBERED = 1_000
"""Groups: they ask again and again, and a hash in Python takes its time."""


def java_hash(text: str) -> int:
    """Over UTF-16 units, as an int of 32 bits with a sign."""
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(encoded), 2):
        value = (31 * value + (encoded[position] << 8 | encoded[position + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


@lru_cache(_REMEMBERED)
def partition_of_group(group_id: str, partition_count: int) -> int:
    """The partition of __consumer_offsets that keeps this group."""
    value = java_hash(group_id)
    return (0 if value == -(1 << 31) else abs(value)) % partition_count


def map_order(keys: Iterable[str]) -> list[str]:
    """In the order in which a HashMap yields keys that were put in this order, if it never held more."""
    found = list(keys)
    table = _SMALLEST_TABLE
    while len(found) > table * 3 // 4:
        table *= 2

    def bucket(key: str) -> int:
        value = java_hash(key) & 0xFFFFFFFF
        return (value ^ value >> 16) & (table - 1)

    return sorted(found, key=bucket)
