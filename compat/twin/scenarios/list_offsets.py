"""ListOffsets: where a partition begins and ends, and which record is the first of a time."""

from __future__ import annotations

from typing import Any

from compat.twin.batches import batch
from compat.twin.scenario import scenario
from compat.twin.twins import Twins

EARLIEST, LATEST, HIGHEST_TIME, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -2, -1, -3, -4, -5, -6
LONG_AGO = 1_700_000_000_000


def wanted(topic: str, *times: int, partition: int = 0, **fields: Any) -> dict[str, Any]:
    """One question for each time."""
    partitions = [{"PartitionIndex": partition, "Timestamp": each, **fields} for each in times]
    return {"Name": topic, "Partitions": partitions}


@scenario("ListOffsets")
def of_an_empty_partition(twins: Twins) -> None:
    topic = twins.once(Twins.create, "empty")
    for time in (EARLIEST, LATEST, 0, LONG_AGO):
        twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, time)])


@scenario("ListOffsets")
def of_records(twins: Twins) -> None:
    topic = twins.create("records")
    for number in range(5):
        twins.produce(topic, batch(b"a", b"b", timestamp=LONG_AGO + 10 * number))
    for time in (EARLIEST, LATEST, 0, LONG_AGO, LONG_AGO + 1, LONG_AGO + 40, LONG_AGO + 41, 2**62):
        twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, time)])


@scenario("ListOffsets")
def with_special_times(twins: Twins) -> None:
    """A version that does not know one yet refuses it."""
    topic = twins.create("special")
    twins.produce(topic, batch(b"a", timestamp=LONG_AGO + 7))
    twins.produce(topic, batch(b"b", timestamp=LONG_AGO))
    for time in (HIGHEST_TIME, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING, -7, -(2**63)):
        twins.ask("ListOffsets", ReplicaId=-1, TimeoutMs=1_000, Topics=[wanted(topic, time)])


@scenario("ListOffsets")
def of_what_is_not_there(twins: Twins) -> None:
    topic = twins.once(Twins.create, "there")
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[])
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[{"Name": topic, "Partitions": []}])
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, LATEST, partition=1)])
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, LATEST, partition=-1)])
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(twins.name("nowhere"), LATEST), wanted(topic, LATEST)])
    for name in ("", ".", "no such name", "x" * 250):
        twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(name, LATEST)])


@scenario("ListOffsets")
def asked_twice_in_one_request(twins: Twins) -> None:
    topic = twins.once(Twins.create, "twice", partitions=2)
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, EARLIEST, LATEST)])
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, LATEST), wanted(topic, LATEST, partition=1)])


@scenario("ListOffsets", first=4)
def with_leader_epochs(twins: Twins) -> None:
    topic = twins.create("epochs")
    twins.produce(topic, batch(b"a", timestamp=LONG_AGO))
    for epoch in (-2, -1, 0, 1, 7):
        for time in (LATEST, HIGHEST_TIME, LONG_AGO):
            twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, time, CurrentLeaderEpoch=epoch)])


@scenario("ListOffsets")
def by_a_replica(twins: Twins) -> None:
    """Of a broker, of a debugging consumer, and of nobody."""
    topic = twins.create("replica")
    twins.produce(topic, batch(b"a", timestamp=LONG_AGO))
    for replica in (-3, -2, 0, 1, 7):
        for time in (EARLIEST, LATEST, HIGHEST_TIME, LONG_AGO):
            twins.ask("ListOffsets", ReplicaId=replica, Topics=[wanted(topic, time)])


@scenario("ListOffsets", first=2)
def by_isolation_level(twins: Twins) -> None:
    topic = twins.create("isolation")
    twins.produce(topic, batch(b"a", timestamp=LONG_AGO))
    for level in (0, 1):
        for time in (EARLIEST, LATEST, HIGHEST_TIME, LONG_AGO):
            twins.ask("ListOffsets", ReplicaId=-1, IsolationLevel=level, Topics=[wanted(topic, time)])


@scenario("ListOffsets")
def after_records_were_deleted(twins: Twins) -> None:
    topic = twins.create("deleted")
    for number in range(3):
        twins.produce(topic, batch(b"a", b"b", timestamp=LONG_AGO + number))
    partitions = [{"PartitionIndex": 0, "Offset": 3}]
    twins.ask("DeleteRecords", Topics=[{"Name": topic, "Partitions": partitions}], TimeoutMs=5_000)
    for time in (EARLIEST, LATEST, 0, LONG_AGO, LONG_AGO + 1, LONG_AGO + 2):
        twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, time)])


@scenario("ListOffsets")
def within_a_batch(twins: Twins) -> None:
    """Packed or not, it is the record that is found."""
    topic = twins.create("within", partitions=2)
    for number, codec in enumerate(("none", "gzip")):
        records = [batch(b"a" * 100, b"b" * 100, b"c" * 100, times=(0, 20, 10), codec=codec, timestamp=LONG_AGO)]
        for each in (*records, batch(b"later", timestamp=LONG_AGO + 15)):
            twins.produce(topic, each, partition=number)
        for time in (LONG_AGO, LONG_AGO + 1, LONG_AGO + 11, LONG_AGO + 15, LONG_AGO + 20, LONG_AGO + 21):
            twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, time, partition=number)])


@scenario("ListOffsets", first=7)
def of_the_highest_time(twins: Twins) -> None:
    """Of several that have it the first; within a batch, too; and none of records without a time."""
    topic = twins.create("highest", partitions=4)
    for number, times in enumerate(((5, 9, 9, 1), (9, 9), (-1 - LONG_AGO,) * 2, ())):
        for first in range(0, len(times), 2):
            values = (b"a",) * len(times[first : first + 2])
            records = batch(*values, times=times[first : first + 2], timestamp=LONG_AGO)
            twins.produce(topic, records, partition=number)
        twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, HIGHEST_TIME, partition=number)])


@scenario("ListOffsets")
def over_segments(twins: Twins) -> None:
    topic = twins.create("segments", segment_bytes="1048576")
    for number in range(4):
        twins.produce(topic, batch(bytes(400_000), timestamp=LONG_AGO + 10 * number))
    for time in (0, LONG_AGO + 5, LONG_AGO + 10, LONG_AGO + 15, LONG_AGO + 30, LONG_AGO + 31):
        twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, time)])


@scenario("ListOffsets")
def of_times_of_the_broker(twins: Twins) -> None:
    topic = twins.create("append", message_timestamp_type="LogAppendTime")
    twins.produce(topic, batch(b"a", b"b", timestamp=LONG_AGO))
    for time in (0, LONG_AGO, 2**62):
        twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, time)])


@scenario("ListOffsets")
def of_a_deleted_topic(twins: Twins) -> None:
    topic = twins.create("deleted")
    twins.produce(topic, batch(b"a", timestamp=LONG_AGO))
    twins.delete(topic)
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, LATEST)])


@scenario("ListOffsets")
def of_internal_topics(twins: Twins) -> None:
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted("__consumer_offsets", EARLIEST)])
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted("__consumer_offsets", EARLIEST, partition=99)])
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted("__cluster_metadata", EARLIEST)])


@scenario("ListOffsets", first=2)
def by_an_isolation_level_that_is_none(twins: Twins) -> None:
    topic = twins.once(Twins.create, "isolation")
    for level in (2, -1):
        twins.ask("ListOffsets", ReplicaId=-1, IsolationLevel=level, Topics=[wanted(topic, LATEST)])


@scenario("ListOffsets", first=4)
def wrong_in_two_ways(twins: Twins) -> None:
    topic = twins.once(Twins.create, "wrong")
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, -99, CurrentLeaderEpoch=7)])
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, -99, partition=5)])
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, LATEST, partition=5, CurrentLeaderEpoch=7)])
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(topic, -99, -99)])
    twins.ask("ListOffsets", ReplicaId=7, Topics=[wanted(topic, -99)])


@scenario("ListOffsets", first=10)
def without_patience(twins: Twins) -> None:
    """How long a broker may look into what lies elsewhere."""
    topic = twins.once(Twins.create, "patience")
    for timeout in (0, -1, 2**31 - 1):
        twins.ask("ListOffsets", ReplicaId=-1, TimeoutMs=timeout, Topics=[wanted(topic, EARLIEST)])
