"""Simulated time, as the clock of one machine shows it: wrong by some time, and a little too fast or slow."""

from __future__ import annotations

import trio

from barnabas.broker.clock import Clock

__all__ = ["BEGINS_MS", "SimulatedClock"]

BEGINS_MS = 1_800_000_000_000


class SimulatedClock(Clock):
    def __init__(self, skew_ms: int, drift: float) -> None:
        """`drift`: so many seconds too many in each."""
        self._skew_ms = skew_ms
        self.steady = _Steady(drift)

    def now_ms(self) -> int:
        return self.steady.now_ms() + self._skew_ms

    def set_ahead(self, by_ms: int) -> None:
        """Somebody sets the machine's clock."""
        self._skew_ms += by_ms


class _Steady(Clock):
    def __init__(self, drift: float) -> None:
        self.steady = self
        self._rate = 1 + drift

    def now_ms(self) -> int:
        return BEGINS_MS + int(trio.current_time() * 1000 * self._rate)
