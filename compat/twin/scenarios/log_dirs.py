"""DescribeLogDirs and AlterReplicaLogDirs: where partitions lie, and how they move."""

from __future__ import annotations

from typing import Any

from compat.twin.batches import batch
from compat.twin.both import Both
from compat.twin.scenario import scenario
from compat.twin.scenarios.alter_configs import DELETE, SET, change
from compat.twin.scenarios.create_topics import AMPLE_MS, wish
from compat.twin.scenarios.describe_configs import BROKER, NODE
from compat.twin.twins import Twins

LONG_AGO = 1_700_000_000_000


def directories(twins: Twins) -> list[Both]:
    """The two that each broker has, as it calls them."""
    told = twins.ask("DescribeLogDirs", Topics=[])
    found = told.map(lambda answer: sorted(each["LogDir"] for each in answer["Results"]))
    return [found[0], found[1]]


def see(twins: Twins, *topics: str) -> None:
    twins.see("DescribeLogDirs", Topics=[{"Topic": topic, "Partitions": [0, 1, 7]} for topic in topics])


def move(topic: str, path: Both | str, *partitions: int) -> dict[str, Any]:
    return {"Path": path, "Topics": [{"Name": topic, "Partitions": partitions}]}


def filled(twins: Twins, readable: str) -> str:
    topic = twins.create(readable, partitions=2)
    twins.produce(topic, batch(b"a", b"b", timestamp=LONG_AGO))
    return topic


@scenario("AlterReplicaLogDirs")
def moves_partitions(twins: Twins) -> None:
    """There, where they are already, and back."""
    topic, (one, other) = filled(twins, "moves"), directories(twins)
    for path in (one, one, other, one):
        twins.ask("AlterReplicaLogDirs", Dirs=[move(topic, path, 0, 1)])
        see(twins, topic)


@scenario("DescribeLogDirs")
def are_described(twins: Twins) -> None:
    topic, (one, other) = filled(twins, "described"), directories(twins)
    twins.ask("AlterReplicaLogDirs", Dirs=[move(topic, one, 0), move(topic, other, 1)])
    see(twins, topic)
    see(twins, topic, twins.name("nowhere"))
    see(twins, topic, topic)
    twins.see("DescribeLogDirs", Topics=[{"Topic": topic, "Partitions": []}])
    twins.see("DescribeLogDirs", Topics=[{"Topic": topic, "Partitions": [1, 1, -1]}])


@scenario("DescribeLogDirs")
def are_described_without_what_is_not_there(twins: Twins) -> None:
    for name in (twins.name("nowhere"), "", "no good name!"):
        see(twins, name)
    see(twins)


@scenario("AlterReplicaLogDirs")
def refuses_to_move(twins: Twins) -> None:
    topic, (one, _) = filled(twins, "refuses"), directories(twins)
    nowhere = one.map(lambda path: f"{path}/nowhere")
    for moves in (
        [move(topic, nowhere, 0)],
        [move(topic, "relative", 0)],
        [move(topic, "", 0)],
        [move(topic, one, 9, -1)],
        [move(twins.name("nowhere"), one, 0)],
        [move("no good name!", one, 0)],
        [move("t" * 230, nowhere, 0), move("t" * 250, one, 0), move("t" * 250, nowhere, 0)],
        [move(topic, one)],
        [],
    ):
        twins.ask("AlterReplicaLogDirs", Dirs=moves)


@scenario("AlterReplicaLogDirs")
def that_are_cordoned_get_nothing_more(twins: Twins) -> None:
    topic, (one, other) = filled(twins, "cordoned"), directories(twins)
    nowhere = other.map(lambda path: f"{path},{path}-nowhere")

    def cordon(paths: Both | str | None) -> None:
        operation = ("cordoned.log.dirs", DELETE if paths is None else SET, paths)
        twins.ask("IncrementalAlterConfigs", Resources=[change(BROKER, NODE, operation)])

    twins.ask("AlterReplicaLogDirs", Dirs=[move(topic, one, 0, 1)])
    see(twins, topic)
    names = [twins.name("one"), twins.name("other")]
    try:
        cordon(nowhere)
        cordon(other)
        see(twins, topic)
        twins.see("AlterReplicaLogDirs", Dirs=[move(topic, other, 0)])
        twins.ask("CreateTopics", Topics=[wish(name, 2) for name in names], TimeoutMs=AMPLE_MS)
        see(twins, *names)
        cordon("*")
        see(twins, topic)
        refused = [wish(twins.name("third"), 2)]
        twins.see("CreateTopics", Topics=refused, TimeoutMs=AMPLE_MS, ValidateOnly=True)
    finally:
        cordon(None)
        see(twins, topic)
