"""What happens at moments of simulated time, in their order: packets that arrive, faults that end."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

import trio

__all__ = ["Moments"]


class Moments:
    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._sooner = trio.Event()

    def at(self, moment_s: float, action: Callable[[], None]) -> None:
        heappush(self._heap, (moment_s, next(self._order), action))
        if self._heap[0][2] is action:
            self._sooner.set()

    def after(self, duration_s: float, action: Callable[[], None]) -> None:
        self.at(trio.current_time() + duration_s, action)

    async def run(self) -> None:
        while True:
            while self._heap and self._heap[0][0] <= trio.current_time():
                heappop(self._heap)[2]()
            self._sooner = trio.Event()
            with trio.move_on_at(self._heap[0][0] if self._heap else float("inf")):
                await self._sooner.wait()
