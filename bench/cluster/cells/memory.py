"""Memory of three nodes together."""

from __future__ import annotations

from collections.abc import Iterator

from bench.cluster.family import family, warm_up
from bench.cluster.side import ClusterSide
from bench.family import Value
from bench.plan import Plan


@family("memory", is_warm=False)
def memory(side: ClusterSide, plan: Plan) -> Iterator[Value]:
    """Resident memory, in which files count that are mapped, and what no file stands behind, summed over the nodes:
    after the start, and after many requests and a consumer that has read all of them; and what was resident at most."""
    yield from both(side, "idle")
    warm_up(side, max(plan.warm_up_s, plan.seconds))
    yield from both(side, "after load")
    yield Value("resident at most", side.most_resident_mib(), "MiB", more_is_better=False)


def both(side: ClusterSide, what: str) -> Iterator[Value]:
    yield Value(f"{what}: resident", side.resident_mib(), "MiB", more_is_better=False)
    yield Value(f"{what}: anonymous", side.anonymous_mib(), "MiB", more_is_better=False)
