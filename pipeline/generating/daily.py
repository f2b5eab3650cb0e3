"""Moments spread over days as people are awake: few before dawn, most in the evening."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

__all__ = ["endless", "spread", "weight"]

MINUTE_MS = 60_000
_DAY_MS = 86_400_000
_PEAK = 20
_LUNCH = 13


def weight(at_ms: int) -> float:
    """How busy it is at that time of the day, in UTC: 1 on average."""
    hour = at_ms % _DAY_MS / 3_600_000
    return 1 + 0.6 * math.cos(math.tau * (hour - _PEAK) / 24) + 0.15 * math.cos(2 * math.tau * (hour - _LUNCH) / 24)


def spread(begin_ms: int, end_ms: int, count: int, random: Random) -> Iterator[int]:
    """So many moments between two, in order."""
    whole = sum(weight(at) * (to - at) for at, to in _minutes(begin_ms, end_ms))
    done, so_far = 0, 0.0
    for at, to in _minutes(begin_ms, end_ms):
        so_far += weight(at) * (to - at)
        due = count if to == end_ms else math.floor(count * so_far / whole)
        yield from _within(at, to, due - done, random)
        done = due


def endless(begin_ms: int, per_second: float, random: Random) -> Iterator[int]:
    """From one moment on, so many a second on average over a day."""
    at, owed = begin_ms, 0.0
    while True:
        to = at - at % MINUTE_MS + MINUTE_MS
        owed += weight(at) * per_second * (to - at) / 1000
        yield from _within(at, to, int(owed), random)
        owed -= int(owed)
        at = to


def _minutes(begin_ms: int, end_ms: int) -> Iterator[tuple[int, int]]:
    at = begin_ms
    while at < end_ms:
        to = min(end_ms, at - at % MINUTE_MS + MINUTE_MS)
        yield at, to
        at = to


def _within(begin_ms: int, end_ms: int, count: int, random: Random) -> list[int]:
    length = end_ms - begin_ms
    return sorted(begin_ms + int(random.random() * length) for _ in range(count))
