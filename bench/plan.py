"""How much of everything: the whole, a part of it that tells in minutes where to look, and the least that runs."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FULL", "QUICK", "SMOKE", "Plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    rounds: int
    as_shipped: bool
    """Whether JVMs run as Kafka's scripts start them, or as those of the tests, which start at half the cost."""
    at_once: int
    """Families that run at the same time: where figures count, 1."""
    warm_up_s: float
    """A JVM's second compiler takes its time."""
    records: int
    """Of 100 bytes, that a cell of throughput carries; slower cells carry a part."""
    seconds: float
    """Of a raw client's cell."""
    connections: tuple[int, ...]
    many_connections: int
    partitions: tuple[int, ...]
    topics: int
    members: int
    groups: int
    """That members join one after the other."""
    latencies: int
    """Records that are sent one after the other."""
    old_mib: int
    """Data that is no longer in the page cache."""
    killed_mib: int
    """Data that a broker has when it is killed."""
    scales: tuple[int, ...]
    """What grows is so large."""
    failovers: int
    away_mib: int
    """That a node has missed when it comes back."""
    steady_a_second: int
    """Records, where that is modest."""
    idle_s: float
    """For which somebody who does nothing is looked at."""
    replicated: tuple[int, ...]
    """Partitions that each of three nodes has."""

    def part(self, of: int) -> int:
        """Of the records, for a cell that takes so many times as long."""
        return max(self.records // of, 1)


FULL = Plan(
    rounds=2,
    as_shipped=True,
    at_once=1,
    warm_up_s=8,
    records=1_500_000,
    seconds=4,
    connections=(1, 100, 1_000, 5_000),
    many_connections=1_000,
    partitions=(1_000, 10_000),
    topics=1_000,
    members=100,
    groups=10,
    latencies=4_000,
    old_mib=1_024,
    killed_mib=2_048,
    scales=(10, 100, 1_000),
    failovers=5,
    away_mib=1_024,
    steady_a_second=200,
    idle_s=10,
    replicated=(10, 100, 1_000, 5_000),
)
QUICK = Plan(
    rounds=1,
    as_shipped=True,
    at_once=1,
    warm_up_s=6,
    records=400_000,
    seconds=3,
    connections=(1, 100, 1_000),
    many_connections=1_000,
    partitions=(1_000,),
    topics=200,
    members=100,
    groups=3,
    latencies=1_000,
    old_mib=256,
    killed_mib=256,
    scales=(5, 50, 500),
    failovers=2,
    away_mib=256,
    steady_a_second=200,
    idle_s=5,
    replicated=(10, 100, 1_000),
)
SMOKE = Plan(
    rounds=1,
    as_shipped=False,
    at_once=3,
    warm_up_s=0,
    records=2_000,
    seconds=0.2,
    connections=(1, 20),
    many_connections=20,
    partitions=(20,),
    topics=10,
    members=10,
    groups=1,
    latencies=30,
    old_mib=2,
    killed_mib=2,
    scales=(1, 10, 100),
    failovers=1,
    away_mib=2,
    steady_a_second=200,
    idle_s=0.5,
    replicated=(3, 30),
)
