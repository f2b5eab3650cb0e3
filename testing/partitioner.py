"""Which partition a record with a key goes to: the one that Kafka's producers choose, by murmur2 of the key."""

from __future__ import annotations

__all__ = ["partition_of_key"]

_MIX = 0x5BD1E995
_ROTATE = 24
_WORD = 0xFFFFFFFF
_SEED = 0x9747B28C


def partition_of_key(key: bytes, partitions: int) -> int:
    return (_murmur2(key) & 0x7FFFFFFF) % partitions


def _murmur2(data: bytes) -> int:
    mixed = _SEED ^ len(data)
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MIX & _WORD
        word = (word ^ word >> _ROTATE) * _MIX & _WORD
        mixed = mixed * _MIX & _WORD ^ word
    if whole < len(data):
        mixed = (mixed ^ int.from_bytes(data[whole:], "little")) * _MIX & _WORD
    mixed = (mixed ^ mixed >> 13) * _MIX & _WORD
    return mixed ^ mixed >> 15
