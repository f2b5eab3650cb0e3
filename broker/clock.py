"""The time, as the broker sees it; a test moves its own."""

from __future__ import annotations

import time

__all__ = ["Clock"]


class Clock:
    def now_ms(self) -> int:
        """Since 1970, for records and deadlines that are kept."""
        return time.time_ns() // 1_000_000
