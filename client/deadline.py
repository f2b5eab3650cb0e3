"""A moment until which something may take."""

from __future__ import annotations

import time

__all__ = ["Deadline"]


class Deadline:
    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._at = time.monotonic() + timeout_s

    @property
    def rest_s(self) -> float:
        """Never below zero."""
        return max(0.0, self._at - time.monotonic())

    @property
    def is_over(self) -> bool:
        return self.rest_s == 0

    def sleep(self, seconds: float) -> None:
        """So long, and not beyond the deadline."""
        time.sleep(min(seconds, self.rest_s))
