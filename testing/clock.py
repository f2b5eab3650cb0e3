"""The time as a test's broker sees it: it goes on by itself, and a test moves it.

    broker.clock.advance(hours=1)      # retention, session timeouts and expiring offsets are an hour further
    broker.clock.freeze()              # and nothing moves any more but by `advance`

Several brokers may share one. It is never set back. How long a Fetch waits, and how long quotas keep a client waiting,
stays real time: clients wait for these by their own clocks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import trio

from barnabas.broker.clock import Clock as BrokerClock

__all__ = ["Clock"]


class Clock(BrokerClock):
    """`advance`, `freeze` and `thaw` may be called in any thread."""

    def __init__(self, *, now_ms: int | None = None, frozen: bool = False) -> None:
        """Where it begins, or now."""
        self.steady = self
        self._lock = threading.Lock()
        self._waiting: dict[trio.Event, tuple[trio.lowlevel.TrioToken, int]] = {}
        self._on_advance: list[Callable[[], object]] = []
        begins_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        self._stands_at_ms: int | None = begins_ms if frozen else None
        self._ahead_ms = begins_ms - _real_ms()

    # What tests call

    @property
    def now(self) -> float:
        """Seconds since 1970, as time.time()."""
        return self.now_ms() / 1000

    @property
    def is_frozen(self) -> bool:
        """It moves by `advance` alone."""
        return self._stands_at_ms is not None

    def advance(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0) -> None:
        """Move it on. The brokers have done what is due by then when this returns; members of groups that did not send
        a heartbeat meanwhile, since for them hardly any time has passed, are taken for dead if it was longer than their
        session timeout."""
        duration_ms = round((seconds + 60 * minutes + 3600 * hours + 86400 * days) * 1000)
        if duration_ms < 0:
            raise ValueError("a clock is moved on, not back")
        with self._lock:
            if self._stands_at_ms is not None:
                self._stands_at_ms += duration_ms
            self._ahead_ms += duration_ms
        self._wake_due()
        for settle in list(self._on_advance):
            settle()

    def freeze(self) -> None:
        """It stands still from now on, but for `advance`."""
        with self._lock:
            self._stands_at_ms = self.now_ms()

    def thaw(self) -> None:
        """It goes on from where it stands."""
        with self._lock:
            if self._stands_at_ms is not None:
                self._ahead_ms = self._stands_at_ms - _real_ms()
                self._stands_at_ms = None
        self._wake(list(self._waiting.items()))  # to wait for as long as it takes now

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It stands still, but for `advance`, until the end of `with`."""
        self.freeze()
        try:
            yield
        finally:
            self.thaw()

    # What the broker calls

    def now_ms(self) -> int:
        stands_at_ms = self._stands_at_ms
        return _real_ms() + self._ahead_ms if stands_at_ms is None else stands_at_ms

    async def sleep_until(self, moment_ms: int) -> None:
        token = trio.lowlevel.current_trio_token()
        while True:
            moved = trio.Event()
            with self._lock:
                self._waiting[moved] = token, moment_ms
            try:
                # Only now: whoever moves the clock from here on finds this one waiting.
                rest_ms = moment_ms - self.now_ms()
                if rest_ms <= 0:
                    break
                with trio.move_on_after(float("inf") if self.is_frozen else rest_ms / 1000):
                    await moved.wait()
            finally:
                with self._lock:
                    del self._waiting[moved]
        await trio.lowlevel.checkpoint()

    async def sleep(self, duration_ms: int) -> None:
        await self.sleep_until(self.now_ms() + duration_ms)

    # What brokers ask for that have it

    def call_after_advance(self, settle: Callable[[], object]) -> None:
        self._on_advance.append(settle)

    def call_no_more(self, settle: Callable[[], object]) -> None:
        with suppress(ValueError):
            self._on_advance.remove(settle)

    def _wake_due(self) -> None:
        now_ms = self.now_ms()
        with self._lock:
            due = [(event, (token, moment)) for event, (token, moment) in self._waiting.items() if moment <= now_ms]
        self._wake(due)

    def _wake(self, waiting: list[tuple[trio.Event, tuple[trio.lowlevel.TrioToken, int]]]) -> None:
        for event, (token, _) in waiting:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(event.set)


def _real_ms() -> int:
    """Since some moment, and never set."""
    return time.monotonic_ns() // 1_000_000
