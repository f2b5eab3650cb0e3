"""DescribeProducers: who has produced to a partition with a sequence."""

from __future__ import annotations

from typing import Any

from compat.twin.batches import batch
from compat.twin.scenario import scenario
from compat.twin.twins import Twins

LONG_AGO = 1_700_000_000_000
NOBODY = 4_000


def wanted(topic: str, *partitions: int) -> dict[str, Any]:
    return {"Name": topic, "PartitionIndexes": list(partitions)}


@scenario("DescribeProducers")
def of_several(twins: Twins) -> None:
    topic = twins.create("several", partitions=2)
    twins.ask("DescribeProducers", Topics=[wanted(topic, 0, 1)])
    for number in range(3):
        sent: dict[str, Any] = {
            "producer_id": NOBODY + number,
            "producer_epoch": number,
            "timestamp": LONG_AGO + number,
        }
        twins.produce(topic, batch(b"a", b"b", base_sequence=0, **sent), partition=number % 2)
        twins.produce(topic, batch(b"c", base_sequence=2, **sent), partition=number % 2)
    twins.produce(topic, batch(b"of nobody", timestamp=LONG_AGO))
    twins.ask("DescribeProducers", Topics=[wanted(topic, 0, 1)])
    twins.ask("DescribeProducers", Topics=[wanted(topic, 1), wanted(topic, 0)])


@scenario("DescribeProducers")
def of_what_is_not_there(twins: Twins) -> None:
    topic, nowhere = twins.create("there"), twins.name("nowhere")
    twins.ask("DescribeProducers", Topics=[])
    twins.ask("DescribeProducers", Topics=[wanted(topic)])
    twins.ask("DescribeProducers", Topics=[wanted(topic, 0, 1, -1, 2**31 - 1)])
    twins.ask("DescribeProducers", Topics=[wanted(nowhere, 0), wanted(topic, 0)])
    for name in ("", ".", "no such name", "x" * 250):
        twins.ask("DescribeProducers", Topics=[wanted(name, 0)])


@scenario("DescribeProducers")
def asked_twice_in_one_request(twins: Twins) -> None:
    topic = twins.create("twice")
    twins.ask("DescribeProducers", Topics=[wanted(topic, 0, 0), wanted(topic, 0)])


@scenario("DescribeProducers")
def of_internal_topics(twins: Twins) -> None:
    twins.ask("DescribeProducers", Topics=[wanted("__consumer_offsets", 0, 99)])
    twins.ask("DescribeProducers", Topics=[wanted("__cluster_metadata", 0)])


@scenario("DescribeProducers")
def after_records_were_deleted(twins: Twins) -> None:
    topic = twins.create("deleted")
    sent: dict[str, Any] = {"producer_id": NOBODY, "producer_epoch": 3, "base_sequence": 0, "timestamp": LONG_AGO}
    twins.produce(topic, batch(b"a", b"b", **sent))
    partitions = [{"PartitionIndex": 0, "Offset": -1}]
    twins.ask("DeleteRecords", Topics=[{"Name": topic, "Partitions": partitions}], TimeoutMs=5_000)
    twins.ask("DescribeProducers", Topics=[wanted(topic, 0)])
