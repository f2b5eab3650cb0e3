"""An offset that only rises while a role lasts, and those who wait for it.

The log's end, the high watermark and the last stable offset are three of them. A task that awaits one is all there is
of what Kafka calls a purgatory.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count

import trio

__all__ = ["Watermark"]

_order = count()


class _Wait:
    __slots__ = ("event", "failure")

    def __init__(self) -> None:
        self.event = trio.Event()
        self.failure: Exception | None = None
        """Why it was not reached. Where the watermark stands says nothing by the time whoever waits gets his turn."""


class Watermark:
    __slots__ = ("_failure", "_left", "_waiting", "_watchers", "offset")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self._waiting: list[tuple[int, int, _Wait]] = []
        self._left = 0
        """At most so many of them wait no more."""
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
            heappop(waiting)[2].event.set()
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
        wait = _Wait()
        heappush(self._waiting, (offset, next(_order), wait))
        try:
            await wait.event.wait()
        except trio.Cancelled:
            if not wait.event.is_set():
                wait.event.set()
                self._one_left()
            raise
        if wait.failure is not None:
            raise wait.failure

    def _one_left(self) -> None:
        """Where the watermark stands still nobody else would take out those whose time was over. All at once, so that
        it costs each of them next to nothing."""
        self._left += 1
        if 2 * self._left > len(self._waiting):
            self._waiting = [one for one in self._waiting if not one[2].event.is_set()]
            heapify(self._waiting)
            self._left = 0

    def watch(self, event: trio.Event) -> None:
        """Set the event once when it rises next, or fails. Who watches several takes one event for all."""
        if self._failure is not None:
            event.set()
        else:
            self._watchers.add(event)

    def unwatch(self, event: trio.Event) -> None:
        self._watchers.discard(event)

    def begin(self, offset: int) -> None:
        """From there on again, where it may be lower than before, as when a log was cut. Watchers look again."""
        if not self.advance(offset):
            self.offset = offset
            self._wake_watchers()

    def fail(self, failure: Exception) -> None:
        """It will not rise any more, as when leadership ends: all who wait are told, now and later."""
        self._failure = failure
        waiting, self._waiting = self._waiting, []
        for _, _, wait in waiting:
            wait.failure = failure
            wait.event.set()
        self._wake_watchers()
