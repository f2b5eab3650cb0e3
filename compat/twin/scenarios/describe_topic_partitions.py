"""DescribeTopicPartitions: topics a page at a time."""

from __future__ import annotations

from typing import Any

from compat.twin.scenario import scenario
from compat.twin.twins import Twins


def named(*topics: str) -> list[dict[str, Any]]:
    return [{"Name": topic} for topic in topics]


def cursor(topic: str, partition: int = 0) -> dict[str, Any]:
    return {"TopicName": topic, "PartitionIndex": partition}


@scenario("DescribeTopicPartitions")
def by_name(twins: Twins) -> None:
    first, second = twins.create("a", partitions=3), twins.create("b")
    twins.ask("DescribeTopicPartitions", Topics=named(second, first))
    twins.ask("DescribeTopicPartitions", Topics=named(first, first))


@scenario("DescribeTopicPartitions")
def of_all(twins: Twins) -> None:
    twins.create("all", partitions=2)
    twins.see("DescribeTopicPartitions", Topics=[])


@scenario("DescribeTopicPartitions")
def by_pages(twins: Twins) -> None:
    """Until there is none any more."""
    topics = named(twins.create("a", partitions=3), twins.create("b"), twins.create("c", partitions=4))
    for limit in (1, 2, 3, 4, 7, 8, 9):
        where: Any = None
        for _ in range(9):
            answer = twins.ask("DescribeTopicPartitions", Topics=topics, ResponsePartitionLimit=limit, Cursor=where)
            where = answer["NextCursor"]
            if None in where.values:
                break


@scenario("DescribeTopicPartitions")
def with_odd_limits(twins: Twins) -> None:
    topics = named(twins.create("a", partitions=3), twins.create("b"))
    for limit in (0, -1, -(2**31), 2_000, 2_001, 2**31 - 1):
        twins.ask("DescribeTopicPartitions", Topics=topics, ResponsePartitionLimit=limit)


@scenario("DescribeTopicPartitions")
def from_odd_cursors(twins: Twins) -> None:
    first, second = twins.create("a", partitions=3), twins.create("b")
    topics = named(first, second)
    for where in (
        cursor(first, 2),
        cursor(first, 3),
        cursor(first, 9),
        cursor(first, -1),
        cursor(second),
        cursor(second, 1),
        cursor("0"),
        cursor("zzz"),
        cursor(""),
        cursor("zzz", -1),
        None,
    ):
        twins.ask("DescribeTopicPartitions", Topics=topics, Cursor=where)
    twins.see("DescribeTopicPartitions", Topics=[], Cursor=cursor(first, 1))
    twins.see("DescribeTopicPartitions", Topics=[], Cursor=cursor("zzz"))
    twins.ask("DescribeTopicPartitions", Topics=[], Cursor=cursor(first, -1))


@scenario("DescribeTopicPartitions")
def of_what_is_not_there(twins: Twins) -> None:
    """It takes no room on a page."""
    known, nowhere = twins.create("known", partitions=2), twins.name("nowhere")
    twins.ask("DescribeTopicPartitions", Topics=named(nowhere))
    twins.ask("DescribeTopicPartitions", Topics=named(nowhere, known, "a"), ResponsePartitionLimit=1)
    twins.ask("DescribeTopicPartitions", Topics=named(nowhere), Cursor=cursor(nowhere, 3))
    for name in (".", "no such name", "x" * 250):
        twins.ask("DescribeTopicPartitions", Topics=named(name, known))


@scenario("DescribeTopicPartitions")
def of_an_empty_name(twins: Twins) -> None:
    twins.ask("DescribeTopicPartitions", Topics=named(""))


@scenario("DescribeTopicPartitions")
def of_internal_topics(twins: Twins) -> None:
    twins.ask("DescribeTopicPartitions", Topics=named("__consumer_offsets", "__transaction_state"))


@scenario("DescribeTopicPartitions")
def of_a_deleted_topic(twins: Twins) -> None:
    topic = twins.create("deleted")
    twins.delete(topic)
    twins.ask("DescribeTopicPartitions", Topics=named(topic))
