"""Families of three nodes, and how these are started and warmed up."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench import work
from bench.cluster.nodes import IDS, cluster_for
from bench.cluster.side import ClusterSide
from bench.family import Families, Function

__all__ = ["IMPATIENT", "THREE_NODES", "family", "started"]

IMPATIENT: Mapping[str, str] = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}
"""A node that is gone is missed within seconds."""
WARM_UP, PARTITIONS = "warm-up", 6
A_SECOND = 50_000


@contextmanager
def started(which: str, *, as_shipped: bool = True, config: Mapping[str, str] | None = None) -> Iterator[ClusterSide]:
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-", ignore_cleanup_errors=True) as root:
        cluster = cluster_for(which, Path(root), config or {}, as_shipped=as_shipped)
        try:
            side = ClusterSide(cluster, as_shipped=as_shipped)
            side.start()
            yield side
        finally:
            cluster.end()


def warm_up(side: ClusterSide, seconds: float) -> None:
    """What all cells do: small requests and large ones to each node, and a consumer that reads it all."""
    for number in IDS:
        topic = f"{WARM_UP}-{number}"
        side.create_led_by(number, topic, PARTITIONS)
        options = {"connections": 8, "in_flight": 4, "numbers": PARTITIONS, "seconds": seconds / 4}
        work.load_at(side, side.address(number), "produce", topic, **options)
    side.create(WARM_UP, PARTITIONS)
    work.librdkafka(side, "produce", WARM_UP, records=int(seconds * A_SECOND))
    count = side.records(WARM_UP, PARTITIONS)
    work.librdkafka(side, "consume", WARM_UP, records=count, partitions=PARTITIONS)


THREE_NODES: Families[ClusterSide] = Families("bench.cluster.cells", warm_up)


def family(
    name: str, *, is_warm: bool = True, config: Mapping[str, str] | None = None
) -> Callable[[Function[ClusterSide]], Function[ClusterSide]]:
    def register(function: Function[ClusterSide]) -> Function[ClusterSide]:
        THREE_NODES.add(name, function, partial(started, config=config), is_warm=is_warm)
        return function

    return register
