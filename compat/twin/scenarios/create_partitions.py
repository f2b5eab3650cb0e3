"""CreatePartitions: a topic only ever gets more."""

from __future__ import annotations

from typing import Any

from compat.twin.scenario import scenario
from compat.twin.scenarios.create_topics import AMPLE_MS
from compat.twin.twins import Twins


def grown(name: str, count: int, *assignments: list[int], assigns: bool = False) -> dict[str, Any]:
    given = [{"BrokerIds": each} for each in assignments]
    return {"Name": name, "Count": count, "Assignments": given if assignments or assigns else None}


def grow(twins: Twins, *topics: dict[str, Any], **fields: Any) -> None:
    twins.ask("CreatePartitions", **{"Topics": topics, "TimeoutMs": AMPLE_MS, **fields})


def see(twins: Twins, *names: str) -> None:
    twins.see("Metadata", Topics=[{"Name": name} for name in names], AllowAutoTopicCreation=False)


@scenario("CreatePartitions")
def adds_partitions(twins: Twins) -> None:
    one, other = twins.create("one"), twins.create("other", partitions=2)
    grow(twins, grown(one, 3), grown(other, 3, [1]))
    see(twins, one, other)


@scenario("CreatePartitions")
def only_validates(twins: Twins) -> None:
    name = twins.create("validates", partitions=2)
    for count in (1, 2, 3):
        grow(twins, grown(name, count), ValidateOnly=True)
    see(twins, name)


@scenario("CreatePartitions")
def refuses_counts(twins: Twins) -> None:
    """Too many are not asked for: Kafka makes the ten thousand, and fails over them."""
    name = twins.create("counts", partitions=2)
    for count in (2, 1, 0, -1, -(2**31)):
        grow(twins, grown(name, count))
    see(twins, name)


@scenario("CreatePartitions")
def refuses_assignments(twins: Twins) -> None:
    name = twins.create("assigned")
    for topic in (
        grown(name, 2, [9]),
        grown(name, 2, [1, 1]),
        grown(name, 2, [1, 9]),
        grown(name, 2, []),
        grown(name, 2, [-1]),
        grown(name, 3, [1]),
        grown(name, 2, [1], [1]),
        grown(name, 2, assigns=True),
        grown(name, 1, [1]),
        grown(name, 0, [9]),
    ):
        grow(twins, topic)
    see(twins, name)


@scenario("CreatePartitions")
def refuses_topics(twins: Twins) -> None:
    there = twins.create("there")
    names = (twins.name("nowhere"), "no good name!", "", "x" * 250, "__cluster_metadata")
    grow(twins, *(grown(name, 2) for name in names), grown(there, 2))
    see(twins, there)


@scenario("CreatePartitions")
def refuses_topics_that_stand_twice(twins: Twins) -> None:
    twice, once = twins.create("twice"), twins.create("once")
    grow(twins, grown(twice, 2), grown(once, 2), grown(twice, 3))
    see(twins, twice, once)


@scenario("CreatePartitions")
def needs_time(twins: Twins) -> None:
    name = twins.create("time")
    for time_ms in (0, -1):
        grow(twins, grown(name, 2), grown(twins.name("nowhere"), 2), TimeoutMs=time_ms)
        grow(twins, grown(name, 2), grown(name, 2), TimeoutMs=time_ms)
        grow(twins, TimeoutMs=time_ms)
    see(twins, name)


@scenario("CreatePartitions")
def adds_nothing(twins: Twins) -> None:
    grow(twins)
