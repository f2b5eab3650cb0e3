"""How long to wait so that bytes move no faster than they may: log.cleaner.io.max.bytes.per.second.

Only arithmetic: who moves bytes says how many and what time it is, and is told how long to wait, which it does as it
likes. Several that share one limit each get a part of it.
"""

from __future__ import annotations

from math import ceil

__all__ = ["BURST_MS", "Throttle"]

BURST_MS = 300
"""What was not moved for so long may be made up for. Kafka looks at its rate as often."""


class Throttle:
    """`bytes_per_second` may be changed at any time; None is as fast as it goes."""

    def __init__(self, bytes_per_second: float | None) -> None:
        self.bytes_per_second = bytes_per_second
        self._ahead_bytes = 0.0
        """How many bytes more have moved than should have; below zero is what may be made up for."""
        self._since_ms: float | None = None

    def wait_ms(self, moved_bytes: int, now_ms: float) -> int:
        """How long to wait from now on, after so many bytes more; asked again then, with none, it is 0."""
        rate = self.bytes_per_second
        if rate is None:
            self._since_ms = None
            self._ahead_bytes = 0.0
            return 0
        assert rate > 0, "a limit of nothing would be waited for for ever"
        if self._since_ms is not None:
            passed_bytes = max(now_ms - self._since_ms, 0) * rate / 1_000
            self._ahead_bytes = max(self._ahead_bytes - passed_bytes, -BURST_MS * rate / 1_000)
        self._since_ms = now_ms
        self._ahead_bytes += moved_bytes
        return max(ceil(self._ahead_bytes * 1_000 / rate), 0)
