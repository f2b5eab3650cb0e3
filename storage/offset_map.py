"""The last offset of each key, in memory of a fixed size: what a compaction remembers of the dirty part of a log.

A key is known by 128 bits of its hash, as in Kafka. Three arrays of machine words make an open hash table: 24 bytes for
a slot, where a dict of Python objects would take six times that. The hash is BLAKE2b and not Kafka's MD5: it is as
fast, and nobody can make two keys of one hash, of which the compaction would delete one.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b
from itertools import count
from struct import Struct

__all__ = ["BYTES_PER_SLOT", "OffsetMap"]

BYTES_PER_SLOT = 24

_HASH_BYTES = 16
_HALVES = Struct("<QQ")


class OffsetMap:
    """Keys and offsets, until it is full. Nothing is ever taken out.

    `memory_bytes` and `load_factor` give the capacity that they give to Kafka's. Where at most `expected_keys` can
    come, no more than they need is allocated.
    """

    def __init__(self, memory_bytes: int, load_factor: float, expected_keys: int | None = None) -> None:
        slots = memory_bytes // BYTES_PER_SLOT
        capacity = int(slots * load_factor)
        if expected_keys is not None and expected_keys < capacity:
            capacity = max(expected_keys, 1)
            slots = min(slots, _prime_from(int(capacity / load_factor) + 2))
        # A probe visits every slot if their number is prime. One slot stays empty, so that every search ends.
        self._slots = _prime_up_to(slots)
        self.capacity = min(capacity, self._slots - 1)
        if self.capacity < 1:
            raise ValueError(f"{memory_bytes} bytes with load factor {load_factor} hold no key")
        self._first = array("Q", [0]) * self._slots
        self._second = array("Q", [0]) * self._slots
        self._offsets = array("q", [0]) * self._slots
        self._count = 0
        self.latest_offset = -1
        """Up to which, inclusively, the log is in the map; whoever fills it says so where records have no key."""

    def __len__(self) -> int:
        return self._count

    @property
    def memory_bytes(self) -> int:
        return self._slots * BYTES_PER_SLOT

    @property
    def is_full(self) -> bool:
        return self._count >= self.capacity

    def put(self, key: bytes) -> None:
        """Remember `latest_offset` as the last offset of the key. Only if the map is not full."""
        first, second = _HALVES.unpack(blake2b(key, digest_size=_HASH_BYTES).digest())
        slot = self._find(first or 1, second)
        if not self._first[slot]:
            assert self._count < self.capacity, "a full map takes no key"
            self._first[slot] = first or 1
            self._second[slot] = second
            self._count += 1
        self._offsets[slot] = self.latest_offset

    def get(self, key: bytes) -> int:
        """The last offset of the key; -1 if it is not there."""
        first, second = _HALVES.unpack(blake2b(key, digest_size=_HASH_BYTES).digest())
        slot = self._find(first or 1, second)
        return self._offsets[slot] if self._first[slot] else -1

    def _find(self, first: int, second: int) -> int:
        """The slot of the hash, or the empty one where it belongs. The first half is never 0, which means empty."""
        slots = self._slots
        firsts = self._first
        slot = first % slots
        found = firsts[slot]
        if not found or (found == first and self._second[slot] == second):
            return slot
        step = 1 + second % (slots - 1)
        while True:
            slot += step
            if slot >= slots:
                slot -= slots
            found = firsts[slot]
            if not found or (found == first and self._second[slot] == second):
                return slot


def _prime_up_to(limit: int) -> int:
    """The largest prime that is not above the limit; 2 at least, which is one slot to fill and one to stay empty."""
    number = limit
    while number > 2 and not _is_prime(number):
        number -= 1
    return number


def _prime_from(limit: int) -> int:
    return next(number for number in count(limit) if _is_prime(number))


def _is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))
