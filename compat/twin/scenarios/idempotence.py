"""Produce with sequences: who sends something twice is told where it stands, and a gap is none."""

from __future__ import annotations

from typing import Any

from compat.twin.batches import batch
from compat.twin.both import Both
from compat.twin.records import kept, produce
from compat.twin.scenario import scenario
from compat.twin.twins import Twins

LONG_AGO = 1_700_000_000_000
LAST = 2**31 - 1
NOBODY = 4_000
"""No broker has given this id to anybody, which it does not look at."""


class Producer:
    """Of one partition."""

    def __init__(self, twins: Twins, topic: str, identity: Any = NOBODY) -> None:
        self.twins, self.topic, self.identity = twins, topic, identity

    def send(self, sequence: int, count: int = 1, *, epoch: int = 0, partition: int = 0, **more: Any) -> Both:
        values = [b"%d" % (sequence + number) for number in range(count)]

        def records(producer_id: int) -> bytes:
            return batch(
                *values,
                key=b"key",
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=sequence,
                timestamp=LONG_AGO,
                **more,
            )

        made = self.identity.map(records) if isinstance(self.identity, Both) else records(self.identity)
        return produce(self.twins, (self.topic, partition, made))

    def described(self) -> None:
        self.twins.ask("DescribeProducers", Topics=[{"Name": self.topic, "PartitionIndexes": [0]}])


@scenario("Produce", first=3)
def in_order(twins: Twins) -> None:
    topic = twins.create("order", partitions=2)
    answer = twins.ask("InitProducerId", TransactionalId=None, TransactionTimeoutMs=0)
    producer = Producer(twins, topic, answer["ProducerId"])
    for sequence in range(0, 12, 3):
        producer.send(sequence, 3)
    producer.send(0, partition=1)
    producer.described()
    kept(twins, topic, partitions=2)


@scenario("Produce", first=3)
def twice(twins: Twins) -> None:
    """The last five batches are remembered."""
    topic = twins.create("twice")
    producer = Producer(twins, topic)
    for sequence in range(0, 14, 2):
        producer.send(sequence, 2)
    for sequence in (12, 4, 2, 0):
        producer.send(sequence, 2)
    # Parts of them are not the same batch.
    producer.send(12)
    producer.send(13)
    producer.send(4, 4)
    producer.described()
    kept(twins, topic)


@scenario("Produce", first=3)
def with_a_gap(twins: Twins) -> None:
    topic = twins.create("gap")
    producer = Producer(twins, topic)
    producer.send(0, 2)
    for sequence in (3, 4, 1000, LAST):
        producer.send(sequence)
    producer.send(2)
    producer.described()
    kept(twins, topic)


@scenario("Produce", first=3)
def of_a_producer_that_nobody_knows(twins: Twins) -> None:
    """Its first sequence may be any: what it had may be gone."""
    topic = twins.create("unknown")
    for number, (sequence, epoch) in enumerate(((7, 0), (LAST, 0), (0, 5), (3, 32_767))):
        producer = Producer(twins, topic, NOBODY + number)
        producer.send(sequence, epoch=epoch)
        producer.send(sequence, epoch=epoch)
        producer.send(sequence + 2 if sequence < LAST else 1, epoch=epoch)
    producer.described()
    kept(twins, topic)


@scenario("Produce", first=3)
def of_an_old_and_a_new_epoch(twins: Twins) -> None:
    topic = twins.create("epochs")
    producer = Producer(twins, topic)
    producer.send(0, epoch=3)
    producer.send(1, epoch=2)
    producer.send(0, epoch=2)
    producer.send(5, epoch=4)
    producer.send(1, epoch=4)
    producer.send(0, epoch=4)
    producer.send(0, epoch=4)
    producer.send(0, epoch=3)
    producer.send(1, epoch=3)
    producer.send(1, epoch=4)
    producer.described()
    kept(twins, topic)


@scenario("Produce", first=3)
def beyond_the_last_sequence(twins: Twins) -> None:
    """After 2147483647 comes 0, also within a batch."""
    topic = twins.create("wrap")
    producer = Producer(twins, topic)
    producer.send(LAST - 1, 2)
    producer.send(1)
    producer.send(0)
    other = Producer(twins, topic, NOBODY + 1)
    other.send(LAST - 1, 4)
    other.send(LAST - 1, 4)
    other.send(0)
    other.send(2)
    other.described()
    kept(twins, topic)


@scenario("Produce", first=3)
def after_its_records_were_deleted(twins: Twins) -> None:
    topic = twins.create("deleted")
    producer = Producer(twins, topic)
    producer.send(0, 2)
    partitions = [{"PartitionIndex": 0, "Offset": -1}]
    twins.ask("DeleteRecords", Topics=[{"Name": topic, "Partitions": partitions}], TimeoutMs=5_000)
    producer.send(0, 2)
    producer.send(5)
    producer.send(2)
    producer.described()


@scenario("Produce", first=3)
def of_two_producers(twins: Twins) -> None:
    topic = twins.create("two")
    one, other = Producer(twins, topic), Producer(twins, topic, NOBODY + 1)
    for sequence in range(3):
        one.send(sequence)
        other.send(sequence)
    one.send(1)
    other.send(4)
    one.described()
    kept(twins, topic)


@scenario("Produce", first=3)
def wrong_in_two_ways(twins: Twins) -> None:
    """A sequence, and what is wrong with the batch itself, or with its topic."""
    topic = twins.create("both", max_message_bytes="300", cleanup_policy="compact")
    producer = Producer(twins, topic)
    producer.send(0)
    producer.send(5, 100)
    producer.send(0, epoch=-1)
    producer.send(7, partition=3)
    fenced: dict[str, Any] = {"producer_id": NOBODY, "producer_epoch": 0, "base_sequence": 9, "timestamp": LONG_AGO}
    produce(twins, (topic, 0, batch(b"no key", **fenced)))
    produce(twins, (topic, 0, batch(bytes(400), key=b"k", **fenced)))
    produce(twins, (topic, 0, batch(b"v", key=b"k", **fenced)), Acks=9)
    several = batch(b"a", key=b"k", **{**fenced, "base_sequence": 1}) + batch(b"b", key=b"k", **fenced)
    produce(twins, (topic, 0, several))
    producer.described()
    kept(twins, topic)


@scenario("Produce", first=3)
def packed_and_stamped(twins: Twins) -> None:
    """What the broker writes anew keeps its sequence."""
    topic = twins.create("packed", compression_type="gzip", message_timestamp_type="LogAppendTime")
    producer = Producer(twins, topic)
    producer.send(0, 50)
    producer.send(0, 50)
    producer.send(50, 50, codec="lz4")
    producer.send(50, 50, codec="lz4")
    producer.described()
    kept(twins, topic)
