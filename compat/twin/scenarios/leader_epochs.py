"""OffsetForLeaderEpoch: up to where the records of a leader's epoch go."""

from __future__ import annotations

from typing import Any

from compat.twin.batches import batch
from compat.twin.scenario import scenario
from compat.twin.twins import Twins

LONG_AGO = 1_700_000_000_000


def wanted(topic: str, *epochs: int, partition: int = 0, **fields: Any) -> dict[str, Any]:
    """One question for each."""
    return {"Topic": topic, "Partitions": [{"Partition": partition, "LeaderEpoch": each, **fields} for each in epochs]}


@scenario("OffsetForLeaderEpoch")
def of_each_epoch(twins: Twins) -> None:
    topic = twins.create("epochs")
    for records in ((), (b"a", b"b")):
        if records:
            twins.produce(topic, batch(*records, timestamp=LONG_AGO))
        for epoch in (-2, -1, 0, 1, 7, 2**31 - 1):
            twins.ask("OffsetForLeaderEpoch", ReplicaId=-1, Topics=[wanted(topic, epoch)])


@scenario("OffsetForLeaderEpoch")
def by_who_knows_the_leader(twins: Twins) -> None:
    topic = twins.create("leader")
    twins.produce(topic, batch(b"a", timestamp=LONG_AGO))
    for current in (-2, -1, 0, 1, 7):
        for epoch in (-1, 0, 3):
            asked = wanted(topic, epoch, CurrentLeaderEpoch=current)
            twins.ask("OffsetForLeaderEpoch", ReplicaId=-1, Topics=[asked])


@scenario("OffsetForLeaderEpoch")
def of_what_is_not_there(twins: Twins) -> None:
    topic, nowhere = twins.once(Twins.create, "there"), twins.name("nowhere")
    twins.ask("OffsetForLeaderEpoch", ReplicaId=-1, Topics=[])
    twins.ask("OffsetForLeaderEpoch", ReplicaId=-1, Topics=[{"Topic": topic, "Partitions": []}])
    for number in (1, -1, 2**31 - 1):
        twins.ask("OffsetForLeaderEpoch", ReplicaId=-1, Topics=[wanted(topic, 0, partition=number)])
    twins.ask("OffsetForLeaderEpoch", ReplicaId=-1, Topics=[wanted(nowhere, 0), wanted(topic, 0)])
    twins.ask("OffsetForLeaderEpoch", ReplicaId=-1, Topics=[wanted(nowhere, 0, CurrentLeaderEpoch=9)])
    for name in ("", ".", "no such name", "x" * 250):
        twins.ask("OffsetForLeaderEpoch", ReplicaId=-1, Topics=[wanted(name, 0)])


@scenario("OffsetForLeaderEpoch", first=3)
def by_a_replica(twins: Twins) -> None:
    """Versions before 3 are followers'."""
    topic = twins.create("replica")
    twins.produce(topic, batch(b"a", timestamp=LONG_AGO))
    for replica in (-3, -2, -1, 0, 1, 7):
        twins.ask("OffsetForLeaderEpoch", ReplicaId=replica, Topics=[wanted(topic, 0)])


@scenario("OffsetForLeaderEpoch")
def asked_twice_in_one_request(twins: Twins) -> None:
    topic, other = twins.once(Twins.create, "twice", partitions=2), twins.once(Twins.create, "other")
    twins.ask("OffsetForLeaderEpoch", Topics=[wanted(topic, 0, partition=1), wanted(other, 0)])
    twins.ask("OffsetForLeaderEpoch", Topics=[wanted(topic, 0, 0)])


@scenario("OffsetForLeaderEpoch")
def after_records_were_deleted(twins: Twins) -> None:
    topic = twins.create("deleted")
    twins.produce(topic, batch(b"a", b"b", timestamp=LONG_AGO))
    partitions = [{"PartitionIndex": 0, "Offset": -1}]
    twins.ask("DeleteRecords", Topics=[{"Name": topic, "Partitions": partitions}], TimeoutMs=5_000)
    for epoch in (-1, 0, 1):
        twins.ask("OffsetForLeaderEpoch", ReplicaId=-1, Topics=[wanted(topic, epoch)])
