"""Ranges of offsets read from a broker in this process, and what stands in the way of that."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("numpy")
pytest.importorskip("pyarrow")

from barnabas.client.cluster import Partition
from barnabas.client.visible import visible
from barnabas.pipeline.source.decoding import decode
from barnabas.pipeline.source.errors import DataLoss, SourceError
from barnabas.pipeline.source.options import SourceOptions
from barnabas.pipeline.source.planning import plan_batch
from barnabas.pipeline.source.ranges import OffsetRange
from barnabas.pipeline.source.reading import read_range
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.compression import Compression
from barnabas.protocol.control import ControlRecordType, build_end_transaction_marker
from barnabas.protocol.messages.fetch import AbortedTransaction
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Uuid
from barnabas.testing import Broker
from tests.clients.waiting import wait_until
from tests.pipeline.source_broker import LONG_AGO, delete_before, numbered, options, produce

ZERO = Partition("orders", 0)
IMPATIENT = {"kafka.default.api.timeout.ms": "300"}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as running:
        running.create_topic("orders", 1)
        yield running


def filled(broker: Broker, count: int, per_batch: int = 10, **batch: Any) -> None:
    for first in range(0, count, per_batch):
        produce(broker.bootstrap_servers, ZERO, numbered(first, first + per_batch), **batch)


def values(asked: SourceOptions, wanted: OffsetRange) -> list[int]:
    return [int(value) for batch in read_range(asked, wanted) for value in batch.column("value").to_pylist()]


def whole(asked: SourceOptions) -> OffsetRange:
    (found,) = plan_batch(asked)
    return found


@pytest.mark.parametrize("compression", Compression)
def test_rows_are_what_was_written(broker: Broker, compression: Compression) -> None:
    filled(broker, 30, compression=compression)
    asked = options(broker, includeHeaders="true")
    rows = [row for batch in read_range(asked, whole(asked)) for row in batch.to_pylist()]
    assert [row["offset"] for row in rows] == list(range(30))
    assert rows[17] | {"timestamp": rows[17]["timestamp"].timestamp()} == {
        "key": b"key 17",
        "value": b"17",
        "topic": "orders",
        "partition": 0,
        "offset": 17,
        "timestamp": (LONG_AGO + 17) / 1000,
        "timestampType": 0,
        "headers": [{"key": "n", "value": b"17"}],
    }


def test_a_range_begins_and_ends_within_batches(broker: Broker) -> None:
    filled(broker, 50)
    wanted = whole(options(broker))
    assert values(options(broker), wanted._replace(start=13, end=37)) == list(range(13, 37))
    assert values(options(broker), wanted._replace(start=20, end=21)) == [20]


def test_many_fetches_make_one_range(broker: Broker) -> None:
    filled(broker, 200)
    asked = options(broker, **{"kafka.max.partition.fetch.bytes": "1000"})
    assert values(asked, whole(asked)) == list(range(200))
    assert len(broker.requests("Fetch")) > 4


def test_nothing_is_fetched_long_before_it_is_wanted(broker: Broker) -> None:
    """So that memory is bounded however long the range: one fetch is decoded, and one under way."""
    filled(broker, 400)
    asked = options(broker, **{"kafka.max.partition.fetch.bytes": "1000"})
    reading = read_range(asked, whole(asked))
    taken = sum(next(reading).num_rows for _ in range(3))
    assert taken < 200
    assert len(broker.requests("Fetch")) <= 4
    assert taken + sum(batch.num_rows for batch in reading) == 400


def test_a_reader_that_stops_leaves_nothing_behind(broker: Broker) -> None:
    filled(broker, 200)
    asked = options(broker, **{"kafka.max.partition.fetch.bytes": "1000"})
    before = threading.active_count()
    reading = read_range(asked, whole(asked))
    assert next(reading).num_rows
    reading.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_a_reader_that_stops_does_not_wait_for_a_leader_that_is_away(broker: Broker) -> None:
    filled(broker, 200)
    asked = options(broker, **{"kafka.max.partition.fetch.bytes": "1000"})
    reading = read_range(asked, whole(asked))
    assert next(reading).num_rows
    wait_until(lambda: len(broker.requests("Fetch")) == 2, "the second fetch")
    broker.fail_next("Fetch", "NOT_LEADER_OR_FOLLOWER", times=None)
    assert next(reading).num_rows
    wait_until(lambda: len(broker.requests("Fetch")) > 2, "the third fetch")
    began = time.monotonic()
    reading.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < asked.patience_s / 2


def test_holes_of_compaction_are_passed_over() -> None:
    """Offsets that a batch spans and has no record for, up to its end."""
    log = build_batch([Record(b"a", b"1", offset=2), Record(b"b", b"2", offset=5)], base_offset=0, last_offset=9)

    def offsets(first: int, end: int) -> list[int]:
        made = decode(iterate_batches(log), "orders", 0, first, end, headers=False)
        return [offset for batch in made for offset in batch.column("offset").to_pylist()]

    assert offsets(0, 10) == [2, 5]
    assert offsets(3, 6) == [5]
    assert offsets(6, 10) == []


def test_what_was_aborted_is_not_shown_nor_are_markers() -> None:
    def batch(offset: int, producer: int, *, transactional: bool = True) -> bytes:
        return build_batch(
            [Record(None, b"%d" % offset)],
            base_offset=offset,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=0,
            transactional=transactional,
        )

    def marker(offset: int, producer: int, kind: ControlRecordType) -> bytes:
        return build_end_transaction_marker(
            kind, producer_id=producer, producer_epoch=0, coordinator_epoch=0, timestamp=0, base_offset=offset
        )

    log = b"".join(
        [
            batch(0, 1),
            batch(1, 2),
            batch(2, 1, transactional=False),
            marker(3, 1, ControlRecordType.ABORT),
            batch(4, 1),
            marker(5, 2, ControlRecordType.COMMIT),
            marker(6, 1, ControlRecordType.COMMIT),
            batch(7, 1),
            marker(8, 1, ControlRecordType.ABORT),
        ]
    )
    aborted = [AbortedTransaction(producer_id=1, first_offset=7), AbortedTransaction(producer_id=1, first_offset=0)]
    assert [each.base_offset for each in visible(iterate_batches(log), aborted)] == [1, 2, 4]
    assert [each.base_offset for each in visible(iterate_batches(log), [])] == [0, 1, 2, 4, 7]


@pytest.mark.parametrize("fails", [True, False])
def test_records_that_went_before_they_were_read(broker: Broker, fails: bool, caplog: pytest.LogCaptureFixture) -> None:
    filled(broker, 50)
    wanted = whole(options(broker))
    delete_before(broker, ZERO, 23)
    asked = options(broker, failOnDataLoss=str(fails).lower())
    sentence = "Offset 0 was expected (of 0 to 50), and 23 found as the first of orders-0."
    if fails:
        with pytest.raises(DataLoss) as raised:
            values(asked, wanted)
        assert sentence in str(raised.value) and "set failOnDataLoss to false" in str(raised.value)
        return
    with caplog.at_level(logging.WARNING):
        assert values(asked, wanted) == list(range(23, 50))
        assert values(asked, wanted._replace(end=10)) == []
    assert sentence in caplog.text


@pytest.mark.parametrize("fails", [True, False])
def test_a_partition_that_ends_before_the_range(broker: Broker, fails: bool, caplog: pytest.LogCaptureFixture) -> None:
    filled(broker, 20)
    wanted = whole(options(broker))
    asked = options(broker, failOnDataLoss=str(fails).lower(), **IMPATIENT)
    beyond, at_the_end = wanted._replace(start=30, end=40), wanted._replace(start=15, end=40)
    if fails:
        with pytest.raises(DataLoss, match=r"Offset 30 was expected .*, and 20 found as the end of orders-0"):
            values(asked, beyond)
        with pytest.raises(DataLoss, match=r"Offset 20 was expected .* for 0.3 s, and 20 found as the end of orders-0"):
            values(asked, at_the_end)
        return
    assert values(asked, beyond) == []
    assert values(asked, at_the_end) == list(range(15, 20))
    assert caplog.text.count("found as the end of orders-0") == 2


@pytest.mark.parametrize("fails", [True, False])
def test_a_topic_that_was_created_again_is_not_read_as_the_old_one(broker: Broker, fails: bool) -> None:
    filled(broker, 20)
    wanted = whole(options(broker))
    broker.delete_topic("orders")
    broker.create_topic("orders", 1)
    filled(broker, 20)
    asked = options(broker, failOnDataLoss=str(fails).lower())
    if fails:
        with pytest.raises(DataLoss, match="the topic has been deleted and created again: the rest of orders-0"):
            values(asked, wanted)
    else:
        assert values(asked, wanted) == []
    # Where brokers tell no ids, nobody can know.
    assert values(asked, wanted._replace(topic_id=Uuid.ZERO)) == list(range(20))


def test_a_topic_that_is_gone(broker: Broker) -> None:
    filled(broker, 20)
    wanted = whole(options(broker))
    broker.delete_topic("orders")
    with pytest.raises(DataLoss, match="the topic has been deleted: the rest of orders-0"):
        values(options(broker, **IMPATIENT), wanted)
    assert values(options(broker, failOnDataLoss="false", **IMPATIENT), wanted) == []


def test_leaders_that_change_and_connections_that_break_are_borne(broker: Broker) -> None:
    filled(broker, 100)
    asked = options(broker, **{"kafka.max.partition.fetch.bytes": "1000"})
    wanted = whole(asked)
    broker.fail_next("Fetch", "NOT_LEADER_OR_FOLLOWER", times=2)
    broker.drop_next("Fetch")
    assert values(asked, wanted) == list(range(100))


def test_a_broker_that_starts_again_is_waited_for(broker: Broker) -> None:
    filled(broker, 200)
    asked = options(broker, **{"kafka.max.partition.fetch.bytes": "1000"})
    reading = read_range(asked, whole(asked))
    first = next(reading)
    broker.kill()
    starting = threading.Thread(target=broker.start)
    starting.start()
    rest = [int(value) for batch in (first, *reading) for value in batch.column("value").to_pylist()]
    starting.join()
    assert rest == list(range(200))


def test_a_broker_that_stays_away_is_an_error_in_time(broker: Broker) -> None:
    filled(broker, 20)
    wanted = whole(options(broker))
    broker.kill()
    with pytest.raises(SourceError, match=r"The partition orders-0 could not be read for 0\.3 s"):
        values(options(broker, **IMPATIENT), wanted)


def test_what_will_not_pass_is_an_error_at_once(broker: Broker) -> None:
    filled(broker, 20)
    asked = options(broker)
    wanted = whole(asked)
    broker.fail_next("Fetch", "TOPIC_AUTHORIZATION_FAILED")
    with pytest.raises(SourceError, match="The partition orders-0 cannot be read: TOPIC_AUTHORIZATION_FAILED"):
        values(asked, wanted)
