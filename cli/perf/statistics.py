"""What kafka-producer-perf-test counts, and how it writes it: records, bytes, latencies, in windows and as a whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Statistics", "percentile"]

_MIB = 1 << 20
_MOST_SAMPLES = 500_000
_SHARES = (0.5, 0.95, 0.99, 0.999)


def percentile(ordered: Sequence[float], share: float) -> float:
    """As Kafka picks it: the value that so large a part is below."""
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0


class Statistics:
    def __init__(
        self,
        expected: int,
        interval_ms: int,
        say: Callable[[str], None],
        *,
        is_steady: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._begun_s = clock()
        self._interval_s = interval_ms / 1000
        self._say = say
        self._is_steady = is_steady
        self._every = max(1, expected // min(expected, _MOST_SAMPLES)) if expected else 1
        self._samples: list[int] = []
        self.is_silent = False
        """Windows are not told: another is, from here on."""
        self.count = 0
        self.bytes = 0
        self._sum_ms = 0
        self._max_ms = 0
        self._window_begun_s = self._begun_s
        self._window_count = self._window_bytes = self._window_sum_ms = self._window_max_ms = 0

    def add(self, latencies_ms: Sequence[int], size: int) -> None:
        """So many records of so many bytes together; in milliseconds, as whole numbers, as Kafka's clock tells them."""
        if not latencies_ms:
            return
        first = -self.count % self._every
        self._samples.extend(latencies_ms[first :: self._every])
        total, longest = sum(latencies_ms), max(latencies_ms)
        self.count += len(latencies_ms)
        self.bytes += size
        self._sum_ms += total
        self._max_ms = max(self._max_ms, longest)
        self._window_count += len(latencies_ms)
        self._window_bytes += size
        self._window_sum_ms += total
        self._window_max_ms = max(self._window_max_ms, longest)
        if self._clock() - self._window_begun_s >= self._interval_s:
            self._tell_window()
            self._new_window()

    def _new_window(self) -> None:
        self._window_begun_s = self._clock()
        self._window_count = self._window_bytes = self._window_sum_ms = self._window_max_ms = 0

    def _tell_window(self) -> None:
        if self._is_steady and self.count == self._window_count:
            self._say("In steady state.")
        if self.is_silent:
            return
        elapsed_s = self._clock() - self._window_begun_s
        self._say(
            f"{self._window_count} records sent, {self._window_count / elapsed_s:.1f} records/sec "
            f"({self._window_bytes / elapsed_s / _MIB:.2f} MB/sec), "
            f"{self._window_sum_ms / self._window_count:.1f} ms avg latency, {self._window_max_ms:.1f} ms max latency."
        )

    def total(self) -> dict[str, Any]:
        elapsed_s = max(self._clock() - self._begun_s, 1e-9)
        ordered = sorted(self._samples)
        return {
            "records": self.count,
            "bytes": self.bytes,
            "seconds": round(elapsed_s, 6),
            "records_per_second": round(self.count / elapsed_s, 6),
            "mib_per_second": round(self.bytes / elapsed_s / _MIB, 6),
            "latency_ms": {
                "average": round(self._sum_ms / self.count, 6) if self.count else 0.0,
                "max": self._max_ms,
                **{f"p{100 * share:g}": percentile(ordered, share) for share in _SHARES},
            },
        }

    def tell_total(self) -> None:
        """In the words of Kafka's tool, which scripts look for."""
        found = self.total()
        latency = found["latency_ms"]
        steady = " steady state" if self._is_steady else ""
        self._say(
            f"{self.count}{steady} records sent, {found['records_per_second']:f} records/sec "
            f"({found['mib_per_second']:.2f} MB/sec), {latency['average']:.2f} ms avg latency, "
            f"{latency['max']:.2f} ms max latency, {latency['p50']} ms 50th, {latency['p95']} ms 95th, "
            f"{latency['p99']} ms 99th, {latency['p99.9']} ms 99.9th."
        )
