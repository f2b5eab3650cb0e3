"""Fetch: from which offset, how much of it, and what is not there."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from compat.twin.batches import batch
from compat.twin.records import Part, fetch, part
from compat.twin.scenario import scenario
from compat.twin.twins import Twins

LONG_AGO = 1_700_000_000_000
LONG_MS = 8_000
"""Nearly as long as a scenario waits for an answer: those that wait for nothing come before."""


def written(twins: Twins, readable: str, partitions: int = 1) -> str:
    """In the first partition three batches of two records, of growing sizes; in the second one."""
    topic = twins.create(readable, partitions)
    for size in (100, 200, 300):
        twins.produce(topic, batch(b"a" * size, b"b", timestamp=LONG_AGO + size))
    if partitions > 1:
        twins.produce(topic, batch(b"other", timestamp=LONG_AGO), partition=1)
    return topic


@scenario("Fetch")
def from_each_offset(twins: Twins) -> None:
    topic = twins.once(written, "offsets")
    for offset in range(8):
        fetch(twins, part(topic, offset=offset))
    for offset in (-1, -2, 2**62, -(2**63)):
        fetch(twins, part(topic, offset=offset))


@scenario("Fetch")
def of_an_empty_partition(twins: Twins) -> None:
    topic = twins.once(Twins.create, "empty")
    for offset in (0, 1, -1):
        fetch(twins, part(topic, offset=offset))


@scenario("Fetch")
def of_several_partitions(twins: Twins) -> None:
    first, second = twins.once(written, "first", 3), twins.once(written, "second", 2)
    fetch(twins, part(first), part(second), part(first, 1), part(second, 1), part(first, 2))
    fetch(twins, part(second, 1), part(first, 2), part(first), part(second))


@scenario("Fetch")
def the_same_partition_twice(twins: Twins) -> None:
    """The last word counts, in the place of the first."""
    topic = twins.once(written, "twice", 2)
    fetch(twins, part(topic), part(topic, 1), part(topic, offset=4))
    fetch(twins, part(topic, offset=99), part(topic))


@scenario("Fetch")
def a_partition_limit(twins: Twins) -> None:
    """The first batch is whole, the one at the limit is cut."""
    topic = twins.once(written, "limit", 2)
    for limit in (0, 1, 16, 17, 60, 61, 170, 171, 172, 173, 200, 2**31 - 1):
        fetch(twins, part(topic, PartitionMaxBytes=limit), part(topic, 1, PartitionMaxBytes=limit))
    for limit in (1, 200):
        fetch(twins, part(topic, 1), part(topic, offset=3, PartitionMaxBytes=limit))


@scenario("Fetch")
def a_limit_of_all(twins: Twins) -> None:
    topic = twins.once(written, "all", 2)
    for limit in (0, 1, 171, 172, 400, 800, 2**31 - 1):
        fetch(twins, part(topic), part(topic, 1), MaxBytes=limit)
        fetch(twins, part(topic, 1), part(topic), MaxBytes=limit)


@scenario("Fetch")
def a_negative_limit(twins: Twins) -> None:
    """Where nothing would be read, nobody looks."""
    topic = twins.once(written, "negative")
    fetch(twins, part(topic, offset=6, PartitionMaxBytes=-1))
    fetch(twins, part(topic, offset=6), MaxBytes=-1)


@scenario("Fetch")
def a_negative_limit_of_what_is_there(twins: Twins) -> None:
    topic = twins.once(written, "negative")
    fetch(twins, part(topic, PartitionMaxBytes=-1))
    fetch(twins, part(topic), MaxBytes=-1)


@scenario("Fetch")
def of_what_is_not_there(twins: Twins) -> None:
    topic, nowhere = twins.once(written, "there", 2), twins.name("nowhere")
    cases: tuple[tuple[Part, ...], ...] = (
        (part(nowhere),),
        (part(topic, 7),),
        (part(topic, -1),),
        (part(topic), part(nowhere), part(topic, 1)),
        (part(topic, 7), part(topic, 1), part(nowhere), part(nowhere, 1)),
        (part(topic, offset=99), part(topic, 1)),
        (),
    )
    for parts in cases:
        fetch(twins, *parts)


@scenario("Fetch", last=12)
def of_names_that_cannot_be(twins: Twins) -> None:
    for name in ("", ".", "no such name", "x" * 250):
        fetch(twins, part(name))


@scenario("Fetch", first=13)
def of_an_id_that_is_none(twins: Twins) -> None:
    topic = twins.once(written, "none", 2)
    nobodys = {"TopicId": UUID(int=0), "Partitions": [part("", 0)[1]]}
    twins.ask("Fetch", MaxWaitMs=0, Topics=[nobodys])
    known = {"TopicId": twins.topic_id(topic), "Partitions": [part("", 0)[1]]}
    twins.ask("Fetch", MaxWaitMs=0, Topics=[nobodys, known])


@scenario("Fetch")
def of_a_deleted_topic(twins: Twins) -> None:
    topic, other = written(twins, "deleted"), written(twins, "other")
    twins.topic_id(topic)
    twins.delete(topic)
    fetch(twins, part(topic))
    fetch(twins, part(topic), part(other))


@scenario("Fetch", first=13)
def of_a_topic_that_came_again(twins: Twins) -> None:
    """Its old id is nobody's."""
    topic = written(twins, "again")
    old = {"TopicId": twins.topic_id(topic), "Partitions": [part("", 0)[1]]}
    twins.delete(topic)
    assert written(twins, "again") == topic
    twins.ask("Fetch", MaxWaitMs=0, Topics=[old])
    fetch(twins, part(topic))


@scenario("Fetch")
def of_deleted_records(twins: Twins) -> None:
    topic = twins.once(written, "deleted")
    partitions = [{"PartitionIndex": 0, "Offset": 3}]
    twins.ask("DeleteRecords", Topics=[{"Name": topic, "Partitions": partitions}], TimeoutMs=5_000)
    for offset in range(7):
        fetch(twins, part(topic, offset=offset))


@scenario("Fetch", first=5)
def with_a_log_start_offset(twins: Twins) -> None:
    """Followers say theirs; of a consumer it means nothing."""
    topic = twins.once(written, "start")
    for start in (-2, 0, 3, 99):
        fetch(twins, part(topic, LogStartOffset=start))


@scenario("Fetch", first=9)
def with_leader_epochs(twins: Twins) -> None:
    topic = twins.once(written, "epochs", 2)
    for epoch in (-2, -1, 0, 1, 7):
        fetch(twins, part(topic, CurrentLeaderEpoch=epoch), part(topic, 1), MaxWaitMs=LONG_MS)
    # What is said first of two wrong things.
    fetch(twins, part(topic, offset=99, CurrentLeaderEpoch=3))
    fetch(twins, part(topic, 9, CurrentLeaderEpoch=3))
    fetch(twins, part(twins.name("nowhere"), CurrentLeaderEpoch=3))


@scenario("Fetch", first=12)
def with_the_epoch_that_was_read_last(twins: Twins) -> None:
    """Whose log went another way is told where."""
    topic = twins.once(written, "diverging")
    for epoch, offset in ((0, 0), (0, 6), (0, 7), (0, -1), (1, 2), (-1, 7), (-2, 3), (3, 7)):
        fetch(twins, part(topic, offset=offset, LastFetchedEpoch=epoch))
    fetch(twins, part(topic, offset=7, LastFetchedEpoch=0, CurrentLeaderEpoch=5))
    fetch(twins, part(topic, offset=7, LastFetchedEpoch=0), part(topic, 1), MaxWaitMs=LONG_MS, MinBytes=1 << 20)


@scenario("Fetch")
def by_isolation_level(twins: Twins) -> None:
    topic = twins.once(written, "isolation")
    for level in (0, 1):
        for offset in (0, 3, 6, 7):
            fetch(twins, part(topic, offset=offset), IsolationLevel=level)


@scenario("Fetch")
def by_an_isolation_level_that_is_none(twins: Twins) -> None:
    topic = twins.once(written, "isolation")
    fetch(twins, part(topic), IsolationLevel=2)
    fetch(twins, part(topic, 9), IsolationLevel=2)


@scenario("Fetch")
def by_a_replica(twins: Twins) -> None:
    """Of a broker that is none, or not of this partition; of the leader itself; and of a debugging consumer."""
    topic = twins.once(written, "replica")
    for replica in (-3, -2, 0, 1, 7):
        for epoch in (-1, 0):
            state = {"ReplicaId": replica, "ReplicaEpoch": epoch}
            fetch(twins, part(topic), ReplicaId=replica, ReplicaState=state, MaxWaitMs=10)


@scenario("Fetch", first=11)
def from_a_rack(twins: Twins) -> None:
    topic = twins.once(written, "rack")
    for rack in ("", "a", "x" * 300):
        fetch(twins, part(topic), RackId=rack)


@scenario("Fetch", first=12)
def of_a_cluster(twins: Twins) -> None:
    """Only the controllers' log looks at it."""
    topic = twins.once(written, "cluster")
    for cluster in (None, "", "another"):
        fetch(twins, part(topic), ClusterId=cluster)


@scenario("Fetch", first=17)
def with_what_only_followers_say(twins: Twins) -> None:
    topic = twins.once(written, "followers")
    fetch(twins, part(topic, ReplicaDirectoryId=UUID(int=7)))
    for mark in (-1, 0, 3, 99):
        fetch(twins, part(topic, HighWatermark=mark))


@scenario("Fetch")
def of_internal_topics(twins: Twins) -> None:
    """The groups' is read as any other; the controllers' is nobody's topic for a client."""
    fetch(twins, part("__consumer_offsets", 99))
    fetch(twins, part("__cluster_metadata"))


def in_segments(twins: Twins) -> str:
    topic = twins.create("segments", segment_bytes="1048576")
    for _ in range(4):
        twins.produce(topic, batch(bytes(400_000), timestamp=LONG_AGO))
    return topic


@scenario("Fetch")
def over_segments(twins: Twins) -> None:
    """One answer ends where a segment does."""
    topic = twins.once(in_segments)
    for offset in range(4):
        fetch(twins, part(topic, offset=offset, PartitionMaxBytes=1 << 22))
        if offset < 3:
            fetch(twins, part(topic, offset=offset), MinBytes=700_000, MaxWaitMs=LONG_MS)


def packed(twins: Twins, readable: str, first: str, **configs: Any) -> str:
    topic = twins.create(readable, **configs)
    twins.produce(topic, batch(b"once and once more " * 30, codec=first, timestamp=LONG_AGO))
    twins.produce(topic, batch(b"again and again " * 30, codec="zstd", timestamp=LONG_AGO))
    return topic


@scenario("Fetch")
def of_zstd(twins: Twins) -> None:
    """Versions before 10 cannot carry it."""
    topic = twins.once(packed, "zstd", "none")
    explicit = twins.once(packed, "explicit", "zstd", compression_type="zstd")
    for offset in (0, 1, 2):
        fetch(twins, part(topic, offset=offset))
        fetch(twins, part(explicit, offset=offset), part(topic))
