"""Rates, as Kafka measures them for quotas: sums over a few windows one behind the other, and token buckets."""

from __future__ import annotations

from math import floor

__all__ = ["Rate", "SimpleRate", "TokenBucket"]


class _Sample:
    __slots__ = ("last_ms", "start_ms", "value")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.value = 0.0


class Rate:
    """Something for each second, over `windows` of `window_ms`: the last of them is not over yet."""

    __slots__ = ("_current", "_samples", "window_ms", "windows")

    def __init__(self, windows: int, window_ms: int) -> None:
        self.windows = windows
        self.window_ms = window_ms
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        """A negative one takes back what was recorded before."""
        samples = self._samples
        if not samples:
            samples.append(_Sample(now_ms))
        sample = samples[self._current]
        if now_ms - sample.start_ms >= self.window_ms:
            # One more than the windows: the oldest may overlap the time that is looked at.
            self._current = (self._current + 1) % (self.windows + 1)
            if self._current >= len(samples):
                samples.append(_Sample(now_ms))
            else:
                samples[self._current].reset(now_ms)
            sample = samples[self._current]
        sample.value += value
        sample.last_ms = now_ms

    def measure(self, now_ms: int) -> float:
        span_ms = self._span_ms(now_ms)
        return sum(sample.value for sample in self._samples) / (span_ms / 1000)

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """How long to do nothing until the rate is down to the limit; 0 if it is not above it."""
        rate = self.measure(now_ms)
        return floor((rate - limit) / limit * self._span_ms(now_ms) + 0.5) if rate > limit else 0

    def is_idle(self, now_ms: int) -> bool:
        """Nothing of it counts any more."""
        return all(now_ms - sample.last_ms >= self.windows * self.window_ms for sample in self._samples)

    def _span_ms(self, now_ms: int) -> int:
        """The time that is measured: what is missing of full windows counts as if nothing had happened in it."""
        elapsed_ms = self._elapsed_ms(now_ms)
        missing = self.windows - 1 - elapsed_ms // self.window_ms
        return max(elapsed_ms + max(missing, 0) * self.window_ms, 1)

    def _elapsed_ms(self, now_ms: int) -> int:
        """Since the oldest that still counts."""
        expired_ms = self.windows * self.window_ms
        for sample in self._samples:
            if now_ms - sample.last_ms >= expired_ms:
                sample.reset(now_ms)
        return now_ms - min((sample.start_ms for sample in self._samples), default=now_ms)


class SimpleRate(Rate):
    """Over the time since it began, one window at least: what comes at once counts at once."""

    __slots__ = ()

    def _span_ms(self, now_ms: int) -> int:
        return max(self._elapsed_ms(now_ms), self.window_ms)


class TokenBucket:
    """`rate` tokens come in each second, `burst` at most are kept. Who takes more waits until it is even."""

    __slots__ = ("_last_ms", "burst", "rate", "tokens")

    def __init__(self, rate: float, windows: int, window_ms: int) -> None:
        self.rate = rate
        self.burst = rate * windows * (window_ms / 1000)
        self.tokens = 0.0
        self._last_ms = 0

    def record(self, count: float, now_ms: int) -> None:
        self._refill(now_ms)
        self.tokens = min(self.burst, self.tokens - count)

    def throttle_ms(self, now_ms: int) -> int:
        """Until there is no token too few; 0 if there is none too few."""
        self._refill(now_ms)
        return floor(-self.tokens / self.rate * 1000 + 0.5) if self.tokens < 0 else 0

    def is_idle(self, now_ms: int) -> bool:
        self._refill(now_ms)
        return self.tokens >= self.burst

    def _refill(self, now_ms: int) -> None:
        self.tokens = min(self.burst, self.tokens + self.rate * (now_ms - self._last_ms) / 1000)
        self._last_ms = now_ms
