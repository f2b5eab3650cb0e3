"""Moments at which something is to be looked at: one for each thing, which may be moved."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

import trio

from barnabas.broker.clock import Clock

__all__ = ["Deadlines"]

T = TypeVar("T", bound=Hashable)


class Deadlines(Generic[T]):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._moments: dict[T, int] = {}
        self._heap: list[tuple[int, int, T]] = []
        """May hold moments that have been moved since."""
        self._order = count()
        self._changed = trio.Event()

    def __contains__(self, thing: T) -> bool:
        return thing in self._moments

    def __len__(self) -> int:
        return len(self._moments)

    def set(self, thing: T, moment_ms: int) -> None:
        if self._moments.get(thing) == moment_ms:
            return
        self._moments[thing] = moment_ms
        heappush(self._heap, (moment_ms, next(self._order), thing))
        if self._heap[0][2] == thing:
            self._changed.set()

    def set_earlier(self, thing: T, moment_ms: int) -> None:
        """Unless it has an earlier one."""
        if moment_ms < self._moments.get(thing, moment_ms + 1):
            self.set(thing, moment_ms)

    def forget(self, thing: T) -> None:
        self._moments.pop(thing, None)

    async def next_due(self) -> list[T]:
        """Wait until something is due, and take all that is."""
        while True:
            due = list(self._take_due(self._clock.now_ms()))
            if due:
                return due
            self._changed = trio.Event()
            await self._clock.wait(self._changed, self._heap[0][0] if self._heap else None)

    def _take_due(self, now_ms: int) -> Iterator[T]:
        heap = self._heap
        while heap:
            moment_ms, _, thing = heap[0]
            if self._moments.get(thing) != moment_ms:
                heappop(heap)
            elif moment_ms <= now_ms:
                heappop(heap)
                del self._moments[thing]
                yield thing
            else:
                return
