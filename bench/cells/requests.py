"""Requests one by one, by a raw client: what a broker takes for each, and not what a client library does."""

from __future__ import annotations

from collections.abc import Iterator

from bench import work
from bench.family import Value, family, rate_and_cost
from bench.joining import join_together
from bench.plan import Plan
from bench.side import Side

TOPIC, PARTITIONS = "requests", 8
MANY = "many"
CLIENTS = {"connections": 8, "in_flight": 8}


@family("requests.produce")
def produce(side: Side, plan: Plan) -> Iterator[Value]:
    """Produce with one record of 100 B, acks=all, to 8 partitions: so many connections, each with one request in
    flight; and 8 with 8 in flight each."""
    side.create(TOPIC, PARTITIONS)
    for connections in plan.connections:
        what = f"{connections:,} connections" if connections > 1 else "1 connection"
        yield from measured(side, plan, what, "produce", TOPIC, connections=connections, numbers=PARTITIONS)
    yield from measured(side, plan, "8 connections, 8 in flight", "produce", TOPIC, numbers=PARTITIONS, **CLIENTS)


@family("requests.metadata")
def metadata(side: Side, plan: Plan) -> Iterator[Value]:
    """Metadata of one topic, of 8 partitions or of 1,000: 8 connections with 8 requests in flight each."""
    side.create(TOPIC, PARTITIONS)
    yield from measured(side, plan, f"{PARTITIONS} partitions", "metadata", TOPIC, **CLIENTS)
    many = plan.partitions[0]
    side.create(MANY, many)
    yield from measured(side, plan, f"{many:,} partitions", "metadata", MANY, **CLIENTS)


@family("requests.offset-commit")
def offset_commit(side: Side, plan: Plan) -> Iterator[Value]:
    """OffsetCommit of one partition, for 8 groups without members: 8 connections with 8 requests in flight each."""
    side.create(TOPIC, PARTITIONS)
    side.wait_for_coordinators()
    yield from measured(side, plan, "8 groups", "offset-commit", TOPIC, numbers=8, **CLIENTS)


@family("requests.join")
def join(side: Side, plan: Plan) -> Iterator[Value]:
    """Members that all join a new group at once, until each has its assignment, in the classic protocol."""
    side.wait_for_coordinators()
    with side.connections(plan.members) as connections:
        join_together(connections, "the first one")
        before_s = side.cpu_s()
        took_s = sum(join_together(connections, f"joined-{number}") for number in range(plan.groups))
        used_s = side.cpu_s() - before_s
    what = f"{plan.members} members"
    yield Value(what, took_s / plan.groups * 1e3, "ms a group", more_is_better=False)
    yield Value(f"{what}: broker's CPU", used_s / plan.groups * 1e3, "ms a group", more_is_better=False)


def measured(side: Side, plan: Plan, what: str, request: str, topic: str, **options: int) -> Iterator[Value]:
    before_s = side.cpu_s()
    told = work.load(side, request, topic, seconds=plan.seconds, **options)
    used_s = side.cpu_s() - before_s
    yield from rate_and_cost(what, "requests", count=told["answers"], per_second=told["per_second"], used_s=used_s)
    for quantile in ("p50", "p99"):
        if quantile in told:
            yield Value(f"{what}: {quantile}", told[quantile], "µs", more_is_better=False)
