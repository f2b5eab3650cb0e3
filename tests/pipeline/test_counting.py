"""CountingProducer: what is acknowledged is counted once, whatever becomes of the counts' own messages."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from barnabas.pipeline.counting import CountingProducer
from barnabas.pipeline.failures import PipelineFailed
from barnabas.testing import Broker

NOON_MS = 29_390_400 * 60_000
AUDIT = "audit"

pytestmark = pytest.mark.kafka(own_broker=True)


def producing(kafka: Broker, **more: object) -> CountingProducer:
    config = {"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 0, "retry.backoff.ms": 10}
    for name in ("message.timeout.ms", "queue.buffering.max.messages", "client.id"):
        if name in more:
            config[name] = more.pop(name)
    return CountingProducer(config, **more)  # type: ignore[arg-type]


def told(kafka: Broker) -> tuple[Counter[tuple[str, str]], int]:
    """What the audit topic says was acknowledged, and how much failed."""
    cells: dict[tuple[str, int], dict[str, Any]] = {}
    for record in kafka.records(AUDIT):
        count = record.json()
        place = count["incarnation"], count["cell"]
        before = cells.get(place, {"acknowledged": 0, "failed": 0})
        cells[place] = max(before, count, key=lambda one: (one["acknowledged"], one["failed"]))
    sums: Counter[tuple[str, str]] = Counter()
    failed = 0
    for count in cells.values():
        sums[count["topic"], count["minute"]] += count["acknowledged"]
        failed += count["failed"]
    return +sums, failed


def test_records_are_counted_by_topic_and_minute(kafka: Broker) -> None:
    with producing(kafka, name="shop") as producer:
        for number in range(30):
            producer.produce("orders", b"%d" % number, timestamp=NOON_MS + number * 4_000)
        producer.produce("visits", b"", timestamp=NOON_MS)
    assert told(kafka) == (
        Counter(
            {
                ("orders", "2025-11-18T00:00:00Z"): 15,
                ("orders", "2025-11-18T00:01:00Z"): 15,
                ("visits", "2025-11-18T00:00:00Z"): 1,
            }
        ),
        0,
    )
    assert {record.json()["producer"] for record in kafka.records(AUDIT)} == {"shop"}
    assert (producer.acknowledged, producer.failed) == (31, 0)


def test_what_is_refused_is_counted_apart(kafka: Broker) -> None:
    seen = []
    with producing(kafka) as producer:
        producer.produce("orders", b"1", timestamp=NOON_MS)
        assert producer.flush() == 0
        kafka.fail_next("Produce", "MESSAGE_TOO_LARGE")
        producer.produce("orders", b"2", timestamp=NOON_MS, on_delivery=lambda error, message: seen.append(error))
    assert told(kafka) == (Counter({("orders", "2025-11-18T00:00:00Z"): 1}), 1)
    assert seen[0].name() == "MSG_SIZE_TOO_LARGE"
    assert "too large" in producer.first_failure.lower()


def test_counts_that_are_refused_are_told_again(kafka: Broker) -> None:
    with producing(kafka) as producer:
        producer.produce("orders", b"1", timestamp=NOON_MS)
        while not producer.acknowledged:
            producer.poll(0.05)
        kafka.fail_next("Produce", "MESSAGE_TOO_LARGE", times=3)
    assert told(kafka) == (Counter({("orders", "2025-11-18T00:00:00Z"): 1}), 0)


def test_counts_that_come_twice_do_no_harm(kafka: Broker) -> None:
    with producing(kafka) as producer:
        for _ in range(3):
            producer.produce("orders", b"", timestamp=NOON_MS)
            assert producer.flush() == 0
    for record in list(kafka.records(AUDIT)):
        kafka.produce(AUDIT, record.value, key=record.key)
    assert told(kafka)[0].total() == 3


def test_a_minute_that_comes_back_after_it_was_forgotten_is_counted_on(kafka: Broker) -> None:
    with producing(kafka) as producer:
        for _ in range(2):
            for minute in range(5):
                producer.produce("orders", b"", timestamp=NOON_MS + minute * 60_000)
            assert producer.flush() == 0
            assert producer.flush() == 0  # forgets what has not changed since it was told
            assert not producer._cells
    assert told(kafka)[0] == Counter({("orders", f"2025-11-18T00:0{minute}:00Z"): 2 for minute in range(5)})


def test_cells_are_bounded_while_counts_go_nowhere(kafka: Broker) -> None:
    kafka.produce("orders", b"")
    producer = producing(kafka, audit_topic="not a name", cells=10, **{"message.timeout.ms": 60_000})
    with pytest.raises(BufferError, match="counts"):
        for minute in range(1_000):
            producer.produce("orders", b"", timestamp=NOON_MS + minute * 60_000)
            while producer.acknowledged + producer.failed <= minute:
                producer.poll(0.05)
    assert producer.acknowledged == 100
    assert producer.flush(0.2) >= 100


def test_a_topic_that_has_its_own_clock_is_counted_by_it(kafka: Broker) -> None:
    kafka.create_topic("clocked", config={"message.timestamp.type": "LogAppendTime"})
    with producing(kafka) as producer:
        producer.produce("clocked", b"", timestamp=NOON_MS)
    (written,) = kafka.records("clocked")
    ((_, minute),) = told(kafka)[0]
    assert written.timestamp > NOON_MS
    assert minute != "2025-11-18T00:00:00Z"


def test_what_cannot_be_counted_is_refused() -> None:
    with pytest.raises(PipelineFailed, match="acks"):
        CountingProducer({"bootstrap.servers": "127.0.0.1:1", "acks": 0})
    with pytest.raises(PipelineFailed, match="transaction"):
        CountingProducer({"bootstrap.servers": "127.0.0.1:1", "transactional.id": "t"})


def test_counts_are_json_as_documented(kafka: Broker) -> None:
    with producing(kafka, **{"client.id": "till-4"}) as producer:
        producer.produce("orders", "text", "key", timestamp=NOON_MS, headers=[("n", b"1")], partition=0)
    (record,) = kafka.records(AUDIT)
    assert json.loads(record.value or b"") == {
        "producer": "till-4",
        "incarnation": producer.incarnation,
        "cell": 1,
        "topic": "orders",
        "minute": "2025-11-18T00:00:00Z",
        "acknowledged": 1,
        "failed": 0,
    }
    assert record.key == f"{producer.incarnation}/1".encode()
