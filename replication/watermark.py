"""An offset that only rises, and those who wait for it.

The log's end, the high watermark and the last stable offset are three of them. A task that awaits one is all there is
of what Kafka calls a purgatory.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

import trio

__all__ = ["Watermark"]

_order = count()


class Watermark:
    __slots__ = ("_failure", "_waiting", "_watchers", "offset")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self._waiting: list[tuple[int, int, trio.Event]] = []
        self._watchers: set[trio.Event] = set()
        self._failure: Exception | None = None

    def __repr__(self) -> str:
        return f"Watermark({self.offset}, {len(self._waiting) + len(self._watchers)} wait)"

    def advance(self, offset: int) -> bool:
        """Whether it rose. A lower offset is no news."""
        if offset <= self.offset:
            return False
        self.offset = offset
        waiting = self._waiting
        while waiting and waiting[0][0] <= offset:
            heappop(waiting)[2].set()
        if self._watchers:
            self._wake_watchers()
        return True

    def _wake_watchers(self) -> None:
        watchers, self._watchers = self._watchers, set()
        for event in watchers:
            event.set()

    async def reaches(self, offset: int) -> None:
        """Return when it has; raise what `fail` said when it will not."""
        if self.offset >= offset:
            return
        if self._failure is not None:
            raise self._failure
        event = trio.Event()
        heappush(self._waiting, (offset, next(_order), event))
        await event.wait()
        if self.offset < offset:
            assert self._failure is not None
            raise self._failure

    def watch(self, event: trio.Event) -> None:
        """Set the event once when it rises next, or fails. Who watches several takes one event for all."""
        if self._failure is not None:
            event.set()
        else:
            self._watchers.add(event)

    def unwatch(self, event: trio.Event) -> None:
        self._watchers.discard(event)

    def renew(self) -> None:
        """It rises again, after `fail`."""
        self._failure = None

    def fail(self, failure: Exception) -> None:
        """It will not rise any more, as when leadership ends: all who wait are told."""
        self._failure = failure
        waiting, self._waiting = self._waiting, []
        for _, _, event in waiting:
            event.set()
        self._wake_watchers()
