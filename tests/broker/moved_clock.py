"""A clock that stands still until a test moves it; whoever waits for a moment that has come then is woken."""

from __future__ import annotations

import trio

from barnabas.broker.clock import Clock

__all__ = ["MovedClock"]

NOW = 1_800_000_000_000


class MovedClock(Clock):
    """`advance` is called in the thread of the loop whose tasks wait."""

    def __init__(self, now_ms: int = NOW) -> None:
        self._now_ms = now_ms
        self.steady = self
        self._waiting: list[tuple[int, trio.Event]] = []

    def now_ms(self) -> int:
        return self._now_ms

    async def sleep_until(self, moment_ms: int) -> None:
        event = trio.Event()
        if moment_ms <= self._now_ms:
            event.set()
        else:
            self._waiting.append((moment_ms, event))
        try:
            await event.wait()
        finally:
            self._waiting = [one for one in self._waiting if one[1] is not event]

    async def sleep(self, duration_ms: int) -> None:
        await self.sleep_until(self._now_ms + duration_ms)

    def is_waited_for(self, moment_ms: int) -> bool:
        return any(moment == moment_ms for moment, _ in self._waiting)

    def advance(self, duration_ms: int) -> None:
        self._now_ms += duration_ms
        for moment_ms, event in self._waiting:
            if moment_ms <= self._now_ms:
                event.set()
