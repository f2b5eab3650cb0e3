"""Memory that no file stands behind, of the broker and its workers."""

from __future__ import annotations

from collections.abc import Iterator

from bench import work
from bench.family import Value, family
from bench.plan import Plan
from bench.side import Side


@family("memory", is_warm=False)
def memory(side: Side, plan: Plan) -> Iterator[Value]:
    """Anonymous memory: after the start, after many requests and a consumer that has read all of them, and with
    connections open beside that."""
    yield mib(side, "idle")
    work.warm_up(side, max(plan.warm_up_s, plan.seconds))
    yield mib(side, "after load")
    with side.connections(plan.many_connections):
        yield mib(side, f"with {plan.many_connections:,} connections")


def mib(side: Side, what: str) -> Value:
    return Value(what, side.anonymous_mib(), "MiB", more_is_better=False)
