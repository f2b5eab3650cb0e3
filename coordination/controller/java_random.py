"""The random numbers of java.util.Random, so that the same seed places replicas as Kafka places them."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["JavaRandom"]

T = TypeVar("T")

_MULTIPLIER = 0x5DEECE66D
_ADDEND = 0xB
_MASK = (1 << 48) - 1


class JavaRandom:
    """A linear congruential generator of 48 bits: good enough to spread replicas, and for nothing else."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK

    def below(self, bound: int) -> int:
        """Evenly from 0 to bound - 1."""
        bits = self._next_31_bits()
        if bound & (bound - 1) == 0:
            return (bound * bits) >> 31
        # The last numbers below 2^31, which would make some results likelier than others, are thrown away.
        while bits - bits % bound + bound - 1 >= 1 << 31:
            bits = self._next_31_bits()
        return bits % bound

    def shuffle(self, items: list[T]) -> None:
        for end in range(len(items), 1, -1):
            other = self.below(end)
            items[end - 1], items[other] = items[other], items[end - 1]

    def _next_31_bits(self) -> int:
        self._state = (self._state * _MULTIPLIER + _ADDEND) & _MASK
        return self._state >> 17
