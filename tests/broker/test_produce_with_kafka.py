"""Produce and ListOffsets beside Kafka: the same requests, in all versions, to both."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.compression import Compression
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record

from .test_fetch_with_kafka import Ask
from .told import codes
from .twins import Side, Twins

pytestmark = [pytest.mark.slow, pytest.mark.java]

VERSIONS = range(3, 14)
FIRST_WITH_IDS = 13
DAY_MS = 86_400_000
NOW_MS = time.time_ns() // 1_000_000

Make = Callable[[Side], ProduceRequest]


@pytest.fixture(scope="module")
def both(twins: Twins) -> Twins:
    twins.create("written", 2)
    twins.create("compacted", cleanup_policy="compact")
    twins.create("stamped", message_timestamp_type="LogAppendTime")
    twins.create("packed", compression_type="gzip")
    twins.create("unpacked", compression_type="uncompressed")
    twins.create("small", max_message_bytes="300")
    twins.create("small-packed", max_message_bytes="300", compression_type="gzip")
    twins.create("safe", min_insync_replicas="2")
    twins.create("large", max_message_bytes="2000000", segment_bytes="1048576")
    twins.create("punctual", message_timestamp_before_max_ms="1000", message_timestamp_after_max_ms="1000")
    return twins


def batch(*values: bytes, key: bytes | None = b"k", at_ms: int = NOW_MS, **of_batch: Any) -> bytes:
    return build_batch([Record(key=key, value=value, timestamp=at_ms) for value in values], **of_batch)


def spoilt(data: bytes, position: int, replacement: bytes) -> bytes:
    return data[:position] + replacement + data[position + len(replacement) :]


def signed(data: bytes) -> bytes:
    """With the checksum that belongs to it."""
    from crc32c import crc32c

    return spoilt(data, 17, crc32c(data[21:]).to_bytes(4))


def ask(
    version: int, *parts: tuple[str, int, bytes | None], acks: int = -1, transactional_id: str | None = None
) -> Make:
    def make(side: Side) -> ProduceRequest:
        return ProduceRequest(
            transactional_id=transactional_id,
            acks=acks,
            timeout_ms=5_000,
            topic_data=[
                TopicProduceData(
                    **({"topic_id": side.topic_ids[topic]} if version >= FIRST_WITH_IDS else {"name": topic}),
                    partition_data=[PartitionProduceData(index=number, records=records)],
                )
                for topic, number, records in parts
            ],
        )

    return make


GOOD = batch(b"value")
TWO = batch(b"one", b"two")

CASES: dict[str, Callable[[int], Make]] = {
    "good": lambda v: ask(v, ("written", 0, GOOD)),
    "two records, to the leader only": lambda v: ask(v, ("written", 0, TWO), acks=1),
    "two partitions": lambda v: ask(v, ("written", 0, GOOD), ("written", 1, TWO)),
    "one good, one unknown": lambda v: ask(v, ("written", 0, GOOD), ("nowhere", 1, TWO)),
    "unknown partition": lambda v: ask(v, ("written", 7, GOOD)),
    "acks that are none": lambda v: ask(v, ("written", 0, GOOD), acks=2),
    "acks that are none, unknown topic": lambda v: ask(v, ("nowhere", 0, GOOD), acks=2),
    "acks that are none, broken batch": lambda v: ask(v, ("written", 0, b"abc"), acks=2),
    "no bytes": lambda v: ask(v, ("written", 0, b"")),
    "few bytes": lambda v: ask(v, ("written", 0, b"123456")),
    "two batches": lambda v: ask(v, ("written", 0, GOOD + TWO)),
    "magic 1": lambda v: ask(v, ("written", 0, spoilt(GOOD, 16, b"\1"))),
    "magic 3": lambda v: ask(v, ("written", 0, spoilt(GOOD, 16, b"\3"))),
    "wrong checksum": lambda v: ask(v, ("written", 0, spoilt(GOOD, len(GOOD) - 2, b"!"))),
    "cut short": lambda v: ask(v, ("written", 0, GOOD[:-1])),
    "a base offset": lambda v: ask(v, ("written", 0, batch(b"value", base_offset=7))),
    "a count that is wrong": lambda v: ask(v, ("written", 0, signed(spoilt(GOOD, 57, (5).to_bytes(4))))),
    "a last offset that is wrong": lambda v: ask(v, ("written", 0, signed(spoilt(TWO, 23, (9).to_bytes(4))))),
    "a control batch": lambda v: ask(v, ("written", 0, signed(spoilt(GOOD, 22, b"\x20")))),
    "an unknown compression": lambda v: ask(v, ("written", 0, signed(spoilt(GOOD, 22, b"\x07")))),
    "producer without sequence": lambda v: ask(v, ("written", 0, signed(spoilt(GOOD, 43, bytes(10))))),
    "zstd": lambda v: ask(v, ("written", 0, batch(b"value" * 50, compression=Compression.ZSTD))),
    "lz4": lambda v: ask(v, ("written", 0, batch(b"value" * 50, compression=Compression.LZ4))),
    "snappy": lambda v: ask(v, ("written", 0, batch(b"value" * 50, compression=Compression.SNAPPY))),
    "gzip": lambda v: ask(v, ("written", 0, batch(b"value" * 50, compression=Compression.GZIP))),
    "keyless on a compacted topic": lambda v: ask(v, ("compacted", 0, batch(b"a", b"b", key=None))),
    "with keys on a compacted topic": lambda v: ask(v, ("compacted", 0, TWO)),
    "one keyless on a compacted topic": lambda v: ask(
        v, ("compacted", 0, build_batch([Record(b"k", b"1", timestamp=NOW_MS), Record(None, b"2", timestamp=NOW_MS)]))
    ),
    "keyless, compressed, on a compacted topic": lambda v: ask(
        v, ("compacted", 0, batch(b"a", b"b", key=None, compression=Compression.LZ4))
    ),
    "stamped by the broker": lambda v: ask(v, ("stamped", 0, TWO)),
    "packed by the broker": lambda v: ask(v, ("packed", 0, batch(b"value" * 50))),
    "packed otherwise by the broker": lambda v: ask(v, ("packed", 0, batch(b"v" * 50, compression=Compression.LZ4))),
    "unpacked by the broker": lambda v: ask(v, ("unpacked", 0, batch(b"v" * 50, compression=Compression.LZ4))),
    "too large": lambda v: ask(v, ("small", 0, batch(bytes(301)))),
    "small enough as it is packed": lambda v: ask(v, ("small", 0, batch(bytes(900), compression=Compression.GZIP))),
    "too large before the broker packs it": lambda v: ask(v, ("small-packed", 0, batch(bytes(900)))),
    "larger than a segment": lambda v: ask(v, ("large", 0, batch(bytes(1_500_000)))),
    "a partition twice": lambda v: ask(v, ("written", 0, GOOD), ("written", 0, TWO)),
    "too few replicas": lambda v: ask(v, ("safe", 0, GOOD)),
    "too early": lambda v: ask(v, ("punctual", 0, batch(b"a", b"b", at_ms=NOW_MS - DAY_MS))),
    "too late": lambda v: ask(v, ("punctual", 0, batch(b"a", at_ms=NOW_MS + DAY_MS))),
    "far in the future": lambda v: ask(v, ("written", 0, batch(b"a", b"b", at_ms=NOW_MS + 3 * DAY_MS))),
    "no timestamp": lambda v: ask(v, ("written", 0, batch(b"a", at_ms=-1))),
    "a type that is the broker's": lambda v: ask(v, ("written", 0, signed(spoilt(GOOD, 22, b"\x08")))),
    "transactional without an id": lambda v: ask(
        v, ("written", 0, batch(b"a", producer_id=5, producer_epoch=0, base_sequence=0, transactional=True))
    ),
    "a sequence that does not begin at 0, of an unknown producer": lambda v: ask(
        v, ("written", 0, batch(b"a", producer_id=900 + v, producer_epoch=0, base_sequence=3))
    ),
    "nothing at all": lambda v: ask(v),
}


@pytest.mark.parametrize("name", CASES)
def test_one_request(both: Twins, name: str) -> None:
    for version in VERSIONS:
        both.ask(CASES[name](version), version, ProduceResponse)


TOPICS = ("written", "compacted", "stamped", "packed", "unpacked", "small", "small-packed", "safe", "large", "punctual")


@pytest.mark.parametrize("topic", TOPICS)
def test_what_is_kept(both: Twins, topic: str) -> None:
    """After all of the above, in the order in which tests ran, both have the same log."""
    offset = 0
    while True:
        fetch = Ask(12, max_bytes=1 << 24).of(topic, 0, offset, partition_max_bytes=1 << 22)
        answer = both.fetch(lambda side, fetch=fetch: fetch(side), 12)  # type: ignore[misc]
        batches = answer["responses"][0]["partitions"][0]["records"]
        if not batches:
            break
        offset = batches[-1][-1][-1][0] + 1


def test_an_idempotent_producer(both: Twins) -> None:
    both.create("idempotent")

    def step(sequence: int, *values: bytes, epoch: int = 0, version: int = 12) -> Any:
        data = batch(*values, producer_id=4_000, producer_epoch=epoch, base_sequence=sequence)
        return both.ask(ask(version, ("idempotent", 0, data)), version, ProduceResponse)

    for version in VERSIONS:
        first = (version - 3) * 2
        step(first, b"a", b"b", version=version)
        step(first, b"a", b"b", version=version)
        step(first + 1, b"b", version=version)
        step(first + 5, b"gap", version=version)
    for sequence in range(22, 30):
        step(sequence, b"x")
    for sequence in (0, 22, 24, 25, 26, 29, 28):
        step(sequence, b"x")
    step(0, b"new", epoch=1)
    step(30, b"old", epoch=0)
    step(5, b"gap", epoch=2)
    step(2**31 - 1, b"far", epoch=1)


def test_an_internal_topic(both: Twins) -> None:
    for version in (3, 9, 12):
        request = ask(version, ("__consumer_offsets", 0, GOOD))
        answers = [side.ask(request(side), version, ProduceResponse) for side in both.sides]
        told = [side.told(answer) for side, answer in zip(both.sides, answers, strict=True)]
        # Whether it is there yet is another matter.
        assert all(set(codes(one)) <= {"INVALID_TOPIC_EXCEPTION", "UNKNOWN_TOPIC_OR_PARTITION"} for one in told)


@pytest.mark.parametrize("version", [3, 9, 13])
@pytest.mark.parametrize(
    "part", [("nowhere", 0, GOOD), ("written", 9, GOOD), ("written", 0, b""), ("small", 0, batch(bytes(400)))]
)
def test_who_wants_no_answer_learns_of_a_refusal_by_the_end(
    both: Twins, version: int, part: tuple[str, int, bytes]
) -> None:
    for side in both.sides:
        side.client.send(ask(version, part, acks=0)(side), version)
        with pytest.raises(ConnectionError):
            side.client.receive(ProduceResponse)
        side.reconnect()


# ListOffsets


@pytest.fixture(scope="module")
def timed(both: Twins) -> Twins:
    both.create("timed", 2)
    for at_ms in (100, 300, 200, 300, 250):
        records = batch(b"a", b"b", at_ms=1_700_000_000_000 + at_ms)
        assert codes(both.ask(ask(12, ("timed", 0, records)), 12, ProduceResponse)) == ["NONE"]
    return both


def offsets(version: int, *wanted: tuple[str, int, int], epoch: int = -1, **of_request: Any) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        **{"replica_id": -1, **of_request},
        topics=[
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(partition_index=number, timestamp=timestamp, current_leader_epoch=epoch)
                ],
            )
            for topic, number, timestamp in wanted
        ],
    )


@pytest.mark.parametrize("version", range(1, 12))
def test_offsets_by_time(timed: Twins, version: int) -> None:
    def step(*wanted: tuple[str, int, int], **more: Any) -> None:
        timed.ask(offsets(version, *wanted, **more), version, ListOffsetsResponse)

    for timestamp in (*range(-8, 2), *(1_700_000_000_000 + each for each in (0, 100, 101, 200, 201, 250, 300, 301))):
        step(("timed", 0, timestamp))
    for timestamp in (-1, -2, -3, 5):
        step(("timed", 1, timestamp))
        step(("timed", 0, timestamp), replica_id=5)
        step(("timed", 0, timestamp), replica_id=-2)
        if version >= 2:
            step(("timed", 0, timestamp), isolation_level=1)
        if version >= 4:
            for epoch in (0, 3):
                step(("timed", 0, timestamp), epoch=epoch)
    step(("nowhere", 0, -1))
    step(("timed", 9, -1), ("timed", 0, -1))
    step(("written", 0, -1), ("timed", 0, -1), ("nowhere", 0, -1))
    step()


@pytest.mark.parametrize("version", range(1, 12))
def test_a_partition_asked_for_twice(timed: Twins, version: int) -> None:
    timed.ask(offsets(version, ("timed", 0, -1), ("timed", 0, -2), ("timed", 1, -1)), version, ListOffsetsResponse)


def test_how_much_was_compared(both: Twins) -> None:
    assert both.comparisons >= 500
