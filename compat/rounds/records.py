"""Records come out as they went in."""

from __future__ import annotations

from functools import partial

from compat.checks import Stage, check, equal
from compat.rounds.adapter import Received, take
from compat.rounds.round import LONG_AGO, Round

HEADERS = (("color", b"red"), ("color", b"\x00\xff"), ("empty", b""))
CODECS = ("gzip", "snappy", "lz4", "zstd")


def come_out_as_they_went_in(round_: Round, stage: Stage, *, codec: str = "none", idempotent: bool = True) -> None:
    round_.created(stage, partitions=2)
    sent = [
        (b"plain", None, 0, ()),
        (None, b"a tombstone", 0, ()),
        (None, None if round_.client.SENDS_EMPTY_RECORDS else b"", 0, HEADERS),
        (b"", b"", 0, ()),
        (b"with headers", b"key", 1, HEADERS),
        *((b"%d " % number * 20, b"%d" % number, number % 2, ()) for number in range(100)),
    ]
    producer = round_.producer(stage, codec=codec, idempotent=idempotent)
    for number, (value, key, partition, headers) in enumerate(sent):
        producer.send(stage.name, value, key=key, partition=partition, headers=headers, timestamp=LONG_AGO + number)
    places = producer.flush()
    equal([place for place in places if place[0] == 0], [(0, offset) for offset in range(54)])
    expected = [
        Received(partition, offset, LONG_AGO + number, key, value, headers)
        for number, ((value, key, _, headers), (partition, offset)) in enumerate(zip(sent, places, strict=True))
    ]
    consumer = round_.consumer(stage)
    consumer.assign(0, 1)
    found = take(consumer, len(sent))
    for partition in (0, 1):
        equal(
            [one for one in found if one.partition == partition],
            [one for one in expected if one.partition == partition],
        )


check("produce: keys, headers, times and what is empty come out as they went in")(come_out_as_they_went_in)
check("produce: by a producer that is not idempotent")(partial(come_out_as_they_went_in, idempotent=False))
for each in CODECS:
    check(f"codecs: {each}")(partial(come_out_as_they_went_in, codec=each))


def large(round_: Round, stage: Stage, *, codec: str) -> None:
    round_.created(stage)
    values = [bytes((number,)) * 900_000 for number in range(5)]
    producer = round_.producer(stage, codec=codec)
    for value in values:
        producer.send(stage.name, value)
    equal(producer.flush(), [(0, offset) for offset in range(5)])
    consumer = round_.consumer(stage)
    consumer.assign(0)
    assert [one.value for one in take(consumer, 5)] == values, "they came as others"


check("produce: records of 900,000 bytes")(partial(large, codec="none"))
check("codecs: zstd of records of 900,000 bytes")(partial(large, codec="zstd"))


@check("records: what is deleted is gone, and who stands there goes on where the rest begins")
def deleted(round_: Round, stage: Stage) -> None:
    admin = round_.created(stage)
    round_.send(stage, 10)
    equal(admin.delete_records(stage.name, 0, 4), 4)
    consumer = round_.consumer(stage)
    consumer.assign(0)
    equal(consumer.bounds(0), (4, 10))
    equal(len(take(consumer, 6)), 6)
    consumer.seek(0, 1)
    equal([one.offset for one in take(consumer, 6)], list(range(4, 10)))
