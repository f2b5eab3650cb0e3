"""ElectLeaders, AlterPartitionReassignments and ListPartitionReassignments, where there is one broker."""

from __future__ import annotations

from typing import Any

from compat.twin.scenario import scenario
from compat.twin.scenarios.create_topics import AMPLE_MS
from compat.twin.twins import Twins

PREFERRED, UNCLEAN = 0, 1

Wish = tuple[int, list[int] | None]


def elect(twins: Twins, *topics: tuple[str, list[int]], kind: int = PREFERRED, time_ms: int = AMPLE_MS) -> None:
    wanted = [{"Topic": name, "Partitions": partitions} for name, partitions in topics]
    twins.ask("ElectLeaders", ElectionType=kind, TopicPartitions=wanted, TimeoutMs=time_ms)


def reassign(twins: Twins, topic: str, *wishes: Wish, **fields: Any) -> None:
    partitions = [{"PartitionIndex": number, "Replicas": replicas} for number, replicas in wishes]
    topics = [{"Name": topic, "Partitions": partitions}]
    twins.ask("AlterPartitionReassignments", **{"Topics": topics, "TimeoutMs": AMPLE_MS, **fields})


@scenario("ElectLeaders")
def elects_who_leads_already(twins: Twins) -> None:
    topic = twins.create("leads", partitions=3)
    elect(twins, (topic, [0, 2]))
    elect(twins, (topic, [1, 1]), (topic, [0]))
    elect(twins, (topic, []))


@scenario("ElectLeaders", first=1)
def elects_an_unclean_one(twins: Twins) -> None:
    topic = twins.create("unclean")
    for kind in (UNCLEAN, 2, 7, -1):
        elect(twins, (topic, [0]), kind=kind)


@scenario("ElectLeaders")
def elects_nobody_for_what_is_not_there(twins: Twins) -> None:
    topic = twins.create("there")
    elect(twins, (topic, [0, 9, -1]), (twins.name("nowhere"), [0]), ("", [0]), ("no good name!", [0]))
    elect(twins)
    elect(twins, time_ms=0)


@scenario("ElectLeaders")
def needs_time_to_elect(twins: Twins) -> None:
    topic = twins.create("time")
    for time_ms in (0, -1):
        elect(twins, (topic, [0, 9]), time_ms=time_ms)


@scenario("ElectLeaders")
def elects_everywhere(twins: Twins) -> None:
    twins.ask("ElectLeaders", ElectionType=PREFERRED, TopicPartitions=None, TimeoutMs=AMPLE_MS)


@scenario("AlterPartitionReassignments")
def reassigns_to_where_all_are_already(twins: Twins) -> None:
    topic = twins.create("already", partitions=2)
    reassign(twins, topic, (0, [1]), (1, [1]))
    twins.see("ListPartitionReassignments", Topics=None, TimeoutMs=AMPLE_MS)
    twins.see("Metadata", Topics=[{"Name": topic}], AllowAutoTopicCreation=False)


@scenario("AlterPartitionReassignments")
def refuses_to_reassign(twins: Twins) -> None:
    topic = twins.create("refuses", partitions=3)
    several: tuple[tuple[Wish, ...], ...] = (
        ((0, None), (1, None)),
        ((0, [1, 1]), (1, [9]), (2, [])),
        ((7, [1]), (-1, [1]), (7, None)),
        ((0, [-1]),),
        ((0, [1, 2]),),
        ((0, [1]), (0, [1])),
        (),
    )
    for wishes in several:
        reassign(twins, topic, *wishes)
        reassign(twins, topic, *wishes, AllowReplicationFactorChange=False)
        reassign(twins, twins.name("nowhere"), *wishes)
    reassign(twins, "", (0, [1]))
    twins.ask("AlterPartitionReassignments", Topics=[], TimeoutMs=AMPLE_MS)


@scenario("AlterPartitionReassignments")
def needs_time_to_reassign(twins: Twins) -> None:
    topic = twins.create("time")
    for time_ms in (0, -1):
        reassign(twins, topic, (0, [1]), (9, [1]), TimeoutMs=time_ms)


@scenario("ListPartitionReassignments")
def lists_reassignments(twins: Twins) -> None:
    topic = twins.create("lists")
    some = [{"Name": name, "PartitionIndexes": [0, 9, 0]} for name in (topic, twins.name("nowhere"), topic, "")]
    for topics in (None, [], some):
        for time_ms in (AMPLE_MS, 0, -1):
            twins.ask("ListPartitionReassignments", Topics=topics, TimeoutMs=time_ms)
