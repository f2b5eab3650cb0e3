"""DeleteRecords: a log begins later from now on."""

from __future__ import annotations

from typing import Any

from compat.twin.batches import batch
from compat.twin.records import fetch, part
from compat.twin.scenario import scenario
from compat.twin.twins import Twins

LONG_AGO = 1_700_000_000_000


def written(twins: Twins, readable: str, partitions: int = 1, **configs: str) -> str:
    """Three batches of two records in each partition."""
    topic = twins.create(readable, partitions, **configs)
    for number in range(partitions):
        for _ in range(3):
            twins.produce(topic, batch(b"a", b"b", key=b"k", timestamp=LONG_AGO), partition=number)
    return topic


def before(topic: str, *offsets: int, partition: int = 0) -> dict[str, Any]:
    return {"Name": topic, "Partitions": [{"PartitionIndex": partition, "Offset": each} for each in offsets]}


def delete(twins: Twins, *topics: dict[str, Any], timeout: int = 5_000) -> None:
    twins.ask("DeleteRecords", Topics=list(topics), TimeoutMs=timeout)


def begins(twins: Twins, topic: str) -> None:
    where = {"Name": topic, "Partitions": [{"PartitionIndex": 0, "Timestamp": each} for each in (-2,)]}
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[where])
    fetch(twins, part(topic), part(topic, 0, 3))


@scenario("DeleteRecords")
def step_by_step(twins: Twins) -> None:
    """Also within a batch, and never back."""
    topic = written(twins, "steps")
    for offset in (0, 1, 2, 2, 1, 5, 6, 6, 0):
        delete(twins, before(topic, offset))
        begins(twins, topic)
    twins.produce(topic, batch(b"next", timestamp=LONG_AGO))
    begins(twins, topic)


@scenario("DeleteRecords")
def all_there_are(twins: Twins) -> None:
    topic = written(twins, "all")
    for _ in range(2):
        delete(twins, before(topic, -1))
        begins(twins, topic)


@scenario("DeleteRecords")
def beyond_the_end(twins: Twins) -> None:
    topic = written(twins, "beyond")
    for offset in (7, 2**62, -2, -(2**63)):
        delete(twins, before(topic, offset))
    begins(twins, topic)


@scenario("DeleteRecords")
def of_an_empty_partition(twins: Twins) -> None:
    topic = twins.create("empty")
    for offset in (-1, 0, 1):
        delete(twins, before(topic, offset))


@scenario("DeleteRecords")
def of_several_partitions(twins: Twins) -> None:
    first, second = written(twins, "first", 2), written(twins, "second")
    delete(twins, before(first, 2), before(second, 9))
    delete(twins, before(first, 3, partition=1), before(second, -1), before(twins.name("nowhere"), 0))
    fetch(twins, part(first, 0, 2), part(first, 1, 2), part(second, 0, 6))


@scenario("DeleteRecords")
def of_what_is_not_there(twins: Twins) -> None:
    topic = written(twins, "there")
    delete(twins)
    delete(twins, {"Name": topic, "Partitions": []})
    delete(twins, before(twins.name("nowhere"), 0))
    for number in (1, -1, 2**31 - 1):
        delete(twins, before(topic, 0, partition=number))
    for name in ("", ".", "no such name", "x" * 250):
        delete(twins, before(name, 0))


@scenario("DeleteRecords")
def asked_twice_in_one_request(twins: Twins) -> None:
    topic = written(twins, "twice", 2)
    delete(twins, before(topic, 2, 4))
    begins(twins, topic)
    delete(twins, before(topic, 5), before(topic, 3, partition=1))
    begins(twins, topic)


@scenario("DeleteRecords")
def of_topics_that_keep_theirs(twins: Twins) -> None:
    """Compacted ones, and the cluster's own."""
    for policy in ("compact", "compact,delete", "delete"):
        topic = written(twins, "kept", cleanup_policy=policy)
        for offset in (1, 99):
            delete(twins, before(topic, offset))
        twins.delete(topic)
    delete(twins, before("__consumer_offsets", 0))
    delete(twins, before("__cluster_metadata", 0))


@scenario("DeleteRecords")
def without_patience(twins: Twins) -> None:
    topic = written(twins, "patience")
    for number, timeout in enumerate((0, -1, 1, 2**31 - 1)):
        delete(twins, before(topic, number), timeout=timeout)
