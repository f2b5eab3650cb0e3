"""`barnabas mirror` from and to Apache Kafka: transactions, compaction, and Kafka's rules for what producers send."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from barnabas.client.cluster import Partition
from barnabas.protocol.compression import Compression
from barnabas.protocol.record import Record
from tests.cli.mirrors import ends_of, now_ms
from tests.cli.test_mirror import FAST, some_records
from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import PATIENCE_S, wait_until
from tests.kafka.broker import KafkaBroker

pytestmark = [pytest.mark.java, pytest.mark.slow]

KAFKA_CLEANS_S = 2 * 15 + PATIENCE_S
"""It looks every log.cleaner.backoff.ms, and may have looked when half of the records were there."""


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("mirror"), {"log.cleaner.backoff.ms": "100"}) as broker:
        yield broker


@pytest.fixture
def own(name: str) -> tuple[str, ...]:
    return ("--offsets-topic", f"mirror.offsets-{name}", *FAST)


class Transactions:
    """A producer whose transactions end as a test says."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "linger.ms": 0})
        self._producer.init_transactions(30)

    def write(self, topic: str, *values: bytes, partition: int = 0) -> None:
        self._producer.begin_transaction()
        for value in values:
            self._producer.produce(topic, value, partition=partition)
        assert self._producer.flush(30) == 0

    def end(self, *, well: bool) -> None:
        if well:
            self._producer.commit_transaction(30)
        else:
            self._producer.abort_transaction(30)


def test_what_was_committed_is_copied_when_it_is(
    kafka_broker: KafkaBroker, ours: BrokerProcess, name: str, own: tuple[str, ...]
) -> None:
    between = ends_of(kafka_broker, ours)
    between.source.create(name, 2)
    one, other = (Transactions(between.source.bootstrap, f"{name}-{each}") for each in (1, 2))
    flags = [name, "--groups", f"{name}.*", *own]
    expected: list[bytes] = []
    for number in range(8):
        well = number % 3 != 1
        one.write(name, b"t%d" % number, b"u%d" % number)
        between.source.values(name, b"plain%d" % number)
        one.end(well=well)
        expected += [b"t%d" % number, b"u%d" % number] if well else []
        expected.append(b"plain%d" % number)
        if number % 2:
            between.catch_up(*flags)
    # One that is going on holds up what is behind it.
    one.write(name, b"open")
    other.write(name, b"quick", partition=1)
    other.end(well=True)
    between.source.values(name, b"behind")
    between.catch_up(*flags)
    assert [record.value for record in between.target.records(name)] == expected
    assert [record.value for record in between.target.records(name, 1)] == [b"quick"]
    one.end(well=True)
    between.catch_up(*flags)
    assert between.same(name, (0, 1)) == len(expected) + 3
    # Offsets between the records lead to the next one.
    here, there = between.source.records(name), between.target.records(name)
    assert [record.value for record in here] == [record.value for record in there]
    end = between.source.end(name)
    assert end > len(here) + 8
    at = Partition(name, 0)
    for offset in range(end + 1):
        between.source.commit(f"{name}-{offset}", {at: offset})
    between.catch_up(*flags)
    for offset in range(end + 1):
        read = sum(record.offset < offset for record in here)
        assert between.target.committed(f"{name}-{offset}") == {at: read}, offset


def test_to_kafka_and_back(kafka_broker: KafkaBroker, ours: BrokerProcess, name: str, own: tuple[str, ...]) -> None:
    there, back = ends_of(ours, kafka_broker), ends_of(kafka_broker, ours)
    there.source.create(name, 2)
    for round_number in range(3):
        for number, compression in enumerate(Compression):
            records = some_records(10 * round_number + number, 1 + number * 5)
            there.source.produce(name, *records, partition=number % 2, compression=compression)
        there.catch_up(name, *own)
        there.same(name, (0, 1))
        back.catch_up(name, "--prefix", "back.", "--offsets-topic", f"mirror.offsets-back-{name}", *FAST)
        back.same(name, (0, 1), prefix="back.")
    assert [there.source.content(name, number) for number in (0, 1)] == [
        back.target.content(f"back.{name}", number) for number in (0, 1)
    ]


def test_a_compacted_topic(kafka_broker: KafkaBroker, ours: BrokerProcess, name: str, own: tuple[str, ...]) -> None:
    """What is gone leaves holes; groups get over them."""
    between = ends_of(ours, kafka_broker)
    between.source.create(
        name, cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01", max_compaction_lag_ms="100"
    )

    def write(first: int) -> None:
        for number in range(first, first + 60):
            between.source.produce(name, Record(b"%d" % (number % 7), b"%d" % number, (), now_ms()))

    write(0)
    before = len(between.source.records(name))
    between.catch_up(name, *own)
    assert before <= 60
    write(60)
    wait_until(lambda: len(between.source.records(name)) < 50, "compaction", KAFKA_CLEANS_S)
    between.catch_up(name, "--groups", ".*", *own)
    here, there = between.source.records(name), between.target.records(name)
    assert {record.key: record.value for record in here} == {record.key: record.value for record in there}
    assert len(there) < 120
    at = Partition(name, 0)
    for offset in (0, 61, 90, 118, 120):
        group = f"{name}-{offset}"
        between.source.commit(group, {at: offset})
    between.catch_up(name, "--groups", f"{name}.*", *own)
    values = {record.offset: int(record.value or b"0") for record in there}
    for offset in (61, 90, 118, 120):
        reached = between.target.committed(f"{name}-{offset}")[at]
        # Nothing is missed, and nothing read again: the first that was copied of those from there on.
        assert all(value >= offset for place, value in values.items() if place >= reached), offset
        assert all(value < offset for place, value in values.items() if place < reached), offset


def test_it_goes_on_by_what_compaction_leaves_of_the_map(
    kafka_broker: KafkaBroker, ours: BrokerProcess, name: str, own: tuple[str, ...]
) -> None:
    between = ends_of(kafka_broker, ours)
    between.source.create(name)
    map_topic = own[1]
    between.target.create(
        map_topic,
        cleanup_policy="compact",
        segment_ms="100",
        min_cleanable_dirty_ratio="0.01",
        max_compaction_lag_ms="100",
    )
    for number in range(6):
        between.source.values(name, b"%d" % number)
        between.catch_up(name, *own)
        between.target.values(name, b"another's")

    def compacted() -> bool:
        # A segment is closed when something comes behind it.
        between.catch_up(name, *own)
        return len(between.target.records(map_topic)) < between.target.end(map_topic) // 2

    wait_until(compacted, "compaction")
    between.source.values(name, b"6")
    between.catch_up(name, "--groups", f"{name}.*", *own)
    values = [each.value for each in between.target.records(name) if each.value != b"another's"]
    assert values == [b"%d" % number for number in range(7)]
    (told,) = between.status(*own)["partitions"]
    assert (told["next"], told["runs"]) == (7, 7)


def test_topics_of_kafkas_are_kept_in_step(
    kafka_broker: KafkaBroker, ours: BrokerProcess, name: str, own: tuple[str, ...], tmp_path: Path
) -> None:
    between = ends_of(kafka_broker, ours)
    between.source.create(name, 1, retention_ms="-1", compression_type="lz4", max_message_bytes="2000000")
    between.source.values(name, b"x" * 1_500_000)
    between.catch_up(name, *own)
    between.source.run("topics", "alter", name, "--partitions", "3")
    between.source.run("configs", "alter", "topic", name, "--delete-config", "compression.type")
    ran = between.catch_up(name, *own)
    assert f"{name} has 3 partitions at the target now." in ran.err
    assert f"{name} is set as at the source: no compression.type." in ran.err
    assert between.same(name, range(3)) == 1
