"""The time, as the broker sees it, and waiting for it; a test moves its own, and who waits then notices.

There are two. `clock` is the time of day, which somebody may set: for timestamps of records, and for whatever is kept
or reckoned from them. `clock.steady` began with it and is never set: for timeouts, quotas and all that lasts.
"""

from __future__ import annotations

import time

import trio

__all__ = ["Clock"]

_LOOK_AGAIN_S = 30
"""The system's clock may be set while somebody waits for a moment."""


class Clock:
    steady: Clock

    def __init__(self) -> None:
        self.steady = SteadyClock(self.now_ms())

    def now_ms(self) -> int:
        """Since 1970, for records and deadlines that are kept."""
        return time.time_ns() // 1_000_000

    async def sleep_until(self, moment_ms: int) -> None:
        """Return when `now_ms` has reached that, also where the clock is set meanwhile."""
        while (rest_ms := moment_ms - self.now_ms()) > 0:
            await trio.sleep(min(rest_ms / 1000, _LOOK_AGAIN_S))
        await trio.lowlevel.checkpoint()

    async def sleep(self, duration_ms: int) -> None:
        """For what is repeated: so long, whatever the clock is set to."""
        await trio.sleep(duration_ms / 1000)

    async def wait(self, event: trio.Event, until_ms: int | None) -> None:
        """For the event, and not beyond that moment; None: for the event alone."""
        if until_ms is None:
            await event.wait()
            return

        async def sleep_until() -> None:
            await self.sleep_until(until_ms)
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(sleep_until)
            await event.wait()
            nursery.cancel_scope.cancel()


class SteadyClock(Clock):
    """It goes on from a moment, whatever the system's clock is set to."""

    def __init__(self, begins_ms: int) -> None:
        self.steady = self
        self._ahead_ms = begins_ms - time.monotonic_ns() // 1_000_000

    def now_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000 + self._ahead_ms
