"""How much of the network replication may take while replicas are moved: a rate for what this broker sends as a
leader, one for what it fetches as a follower, and the replicas that count.

Traffic is never cut short: whoever is above the rate leaves out, until it is below again, those replicas that are
throttled and not in sync. One that is in sync stays so.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.coordination.quotas.rate import SimpleRate

__all__ = ["ReplicationQuota", "is_named"]

ALL_REPLICAS = "*"


def is_named(replicas: Sequence[str], partition: int, broker_id: int) -> bool:
    """Whether a topic's leader. or follower.replication.throttled.replicas, PARTITION:BROKER each, or *, have this."""
    return f"{partition}:{broker_id}" in replicas or ALL_REPLICAS in replicas


class ReplicationQuota:
    def __init__(self, bytes_per_second: int, windows: int, window_ms: int) -> None:
        self.bytes_per_second = bytes_per_second
        self._rate = SimpleRate(windows, window_ms)
        self._throttled: set[tuple[str, int]] = set()

    def throttle(self, topic: str, partition: int, throttled: bool) -> None:
        if throttled:
            self._throttled.add((topic, partition))
        else:
            self._throttled.discard((topic, partition))

    def is_throttled(self, topic: str, partition: int) -> bool:
        return (topic, partition) in self._throttled

    def record(self, size: int, now_ms: int) -> None:
        """Bytes of a throttled replica; whether it was in sync makes no difference."""
        self._rate.record(size, now_ms)

    def is_exceeded(self, now_ms: int) -> bool:
        return bool(self._throttled) and self._rate.measure(now_ms) > self.bytes_per_second
