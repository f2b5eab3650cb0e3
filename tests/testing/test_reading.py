"""What a test reads is what a consumer would: aborted and control records are not shown, keys lie where producers put
them, and who waits is woken by whatever brings it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2

from barnabas.broker.node import Node
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.control import ControlRecordType, build_end_transaction_marker
from barnabas.protocol.record import Record as NewRecord
from barnabas.storage.producer_state import AppendOrigin
from barnabas.testing import Broker, BrokerFailed, NotInTime
from barnabas.testing.partitioner import partition_of_key

PATIENCE_S = 20


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@given(st.binary(max_size=40), st.integers(1, 50))
def test_a_key_goes_where_kafka_python_puts_it(key: bytes, partitions: int) -> None:
    assert partition_of_key(key, partitions) == (murmur2(key) & 0x7FFFFFFF) % partitions


@pytest.mark.parametrize("codec", ["none", "gzip", "lz4", "zstd", "snappy"])
def test_compressed_records_are_shown_as_they_were_sent(broker: Broker, codec: str) -> None:
    topic = f"packed-{codec}"
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "compression.type": codec, "linger.ms": 20})
    for number in range(50):
        producer.produce(topic, b"value " * 20, key=b"%d" % number, headers={"n": b"1"})
    assert producer.flush(10) == 0
    records = broker.records(topic)
    assert [record.key_text for record in records] == [str(number) for number in range(50)]
    assert {(record.text, record.headers) for record in records} == {("value " * 20, (("n", b"1"),))}


def test_aborted_and_undecided_records_are_not_shown_unless_they_are_asked_for(broker: Broker) -> None:
    broker.create_topic("transacted")

    def write(node: Node) -> None:
        partition, now_ms = node.partition("transacted", 0), node.clock.now_ms()
        for producer, text in ((7, "aborted"), (8, "committed"), (9, "undecided")):
            record = NewRecord(value=text.encode(), timestamp=now_ms)
            data = build_batch([record], producer_id=producer, producer_epoch=0, base_sequence=0, transactional=True)
            partition.append((Batch(bytearray(data)),), now_ms)
        for producer, kind in ((7, ControlRecordType.ABORT), (8, ControlRecordType.COMMIT)):
            marker = build_end_transaction_marker(
                kind, producer_id=producer, producer_epoch=0, coordinator_epoch=0, timestamp=now_ms
            )
            partition.append(
                (Batch(bytearray(marker)),), now_ms, origin=AppendOrigin.COORDINATOR, transaction_version=0
            )

    broker._embedded.do(lambda host: write(host.node))
    uncommitted = broker.records("transacted", isolation="read_uncommitted")
    assert [record.text for record in uncommitted] == ["aborted", "committed", "undecided"]
    assert [record.text for record in broker.records("transacted")] == ["committed"]
    with pytest.raises(NotInTime, match="has 1 record after"):
        broker.wait_for("transacted", count=2, timeout=0.01)
    with pytest.raises(ValueError, match="write 'read_committed' or 'read_uncommitted'"):
        broker.records("transacted", isolation="dirty")


class Waiting:
    """A thread that waits for records, and what it got."""

    def __init__(self, broker: Broker, topic: str, count: int) -> None:
        self.result: object = None
        self._thread = threading.Thread(target=self._wait, args=(broker, topic, count))
        self._thread.start()
        embedded = broker._embedded
        while not embedded.do(lambda host: host._watchers):
            assert self._thread.is_alive()

    def _wait(self, broker: Broker, topic: str, count: int) -> None:
        try:
            self.result = [record.text for record in broker.wait_for(topic, count=count, timeout=PATIENCE_S)]
        except Exception as error:  # noqa: BLE001 - told to the test
            self.result = error

    def end(self) -> object:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        return self.result


def test_who_waits_is_woken_by_a_record_in_a_topic_that_was_not_there(broker: Broker) -> None:
    waiting = Waiting(broker, "later", 2)
    broker.create_topic("later", partitions=2)
    broker.produce("later", "one", partition=1)
    broker.produce("later", "two", partition=0)
    assert waiting.end() == ["two", "one"]


def test_who_waits_goes_on_waiting_over_a_restart_and_is_told_of_the_end() -> None:
    with Broker() as broker:
        waiting = Waiting(broker, "orders", 2)
        broker.produce("orders", "one")
        broker.kill()
        broker.start()
        broker.restart()
        broker.produce("orders", "two")
        assert waiting.end() == ["one", "two"]
        waiting = Waiting(broker, "orders", 3)
    assert isinstance(waiting.end(), BrokerFailed)


def test_a_topic_that_is_made_anew_begins_anew(broker: Broker) -> None:
    broker.produce("anew", "old")
    waiting = Waiting(broker, "anew", 2)
    broker.delete_topic("anew")
    broker.produce("anew", "new")
    broker.produce("anew", "newer")
    assert waiting.end() == ["new", "newer"]


def test_only_what_matches_counts(broker: Broker) -> None:
    for number in range(5):
        broker.produce("some", {"number": number})
    (found,) = broker.wait_for("some", matching=lambda record: record.json()["number"] == 3)
    assert found.offset == 3
    with pytest.raises(NotInTime, match="some has no matching records"):
        broker.wait_for("some", matching=lambda record: record.key is not None, timeout=0.01)
    with pytest.raises(ZeroDivisionError):
        broker.wait_for("some", matching=lambda _record: 1 / 0)
    with pytest.raises(RuntimeError, match="a function that it is given, as matching=, has to do without it"):
        broker.wait_for("some", matching=lambda _record: broker.topics())
