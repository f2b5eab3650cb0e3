"""Where a consumer is put: by offset and by time, within a batch too."""

from __future__ import annotations

from compat.checks import Stage, check, equal
from compat.rounds.adapter import Consuming, take
from compat.rounds.round import LONG_AGO, Round


def filled(round_: Round, stage: Stage) -> Consuming:
    """A hundred records, ten milliseconds apart, in the first partition; one in the other."""
    round_.created(stage, partitions=2)
    producer = round_.producer(stage)
    for number in range(100):
        producer.send(stage.name, b"%d" % number, timestamp=LONG_AGO + 10 * number)
    producer.send(stage.name, b"other", partition=1, timestamp=LONG_AGO)
    producer.flush()
    consumer = round_.consumer(stage)
    consumer.assign(0, 1)
    return consumer


@check("consume: from the beginning to the end")
def from_the_beginning(round_: Round, stage: Stage) -> None:
    consumer = filled(round_, stage)
    equal((consumer.bounds(0), consumer.bounds(1)), ((0, 100), (0, 1)))
    take(consumer, 101)
    equal((consumer.position(0), consumer.position(1)), (100, 1))


@check("consume: from a time on")
def by_time(round_: Round, stage: Stage) -> None:
    consumer = filled(round_, stage)
    take(consumer, 101)
    times = (0, LONG_AGO + 370, LONG_AGO + 371, LONG_AGO + 990, LONG_AGO + 991)
    found = [consumer.offset_at(0, each) for each in times]
    equal(found, [0, 37, 38, 99, None])
    consumer.seek(0, found[2] or 0)
    equal([one.offset for one in take(consumer, 62)], list(range(38, 100)))


@check("consume: paused, put elsewhere, and resumed")
def paused(round_: Round, stage: Stage) -> None:
    consumer = filled(round_, stage)
    take(consumer, 101)
    consumer.pause(0)
    consumer.seek(0, 90)
    for _ in range(2):
        consumer.seek(1, 0)
        equal([one.value for one in take(consumer, 1)], [b"other"])
    consumer.resume(0)
    equal([one.offset for one in take(consumer, 10)], list(range(90, 100)))
