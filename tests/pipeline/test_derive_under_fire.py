"""kill -9 of derive, its JVM and the broker while events come in: each window's result is there once, and right."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import wait_until
from tests.pipeline.fire import EXECUTORS, LOCAL, JobProcess, Writing, kafka_and_spark, kill_by_turns

pytestmark = pytest.mark.slow

TOPIC, FEED = "views", "top-pages"
PARTITIONS = 3
NOW = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=20)
STEP_S = 0.1
"""A hundred events a window. What one partition may be read ahead of another is less than the watermark."""
PAGES = 7


def event(number: int) -> bytes:
    at = NOW + timedelta(seconds=number * STEP_S)
    return json.dumps({"page": f"/{number % PAGES}", "at": at.isoformat()}).encode()


def write_settings(directory: Path, bootstrap: str, master: str, jars: str) -> None:
    (directory / "views.ddl").write_text("page STRING NOT NULL, at TIMESTAMP NOT NULL")
    (directory / "pipeline.toml").write_text(
        kafka_and_spark(directory, bootstrap, master, jars)
        + f"""
[land]
records-per-batch = 3000
[topics.{TOPIC}]
schema = "views.ddl"
event-time = "at"
[derive.pages]
source = "{TOPIC}"
topic = "{FEED}"
kind = "count"
by = "page"
window = "10 seconds"
watermark = "60 seconds"
every-seconds = 0.2
"""
    )


def expected(values: list[bytes]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for value in values:
        fields = json.loads(value)
        at = datetime.fromisoformat(fields["at"])
        start = at - timedelta(seconds=at.second % 10, microseconds=at.microsecond)
        found[start.strftime("%Y-%m-%dT%H:%M:%S.000Z"), fields["page"]] += 1
    return found


def read_feed(bootstrap: str) -> list[tuple[bytes, dict[str, object]]]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "reader", "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.subscribe([FEED])
    found = []
    message = consumer.poll(20)
    while message is not None:
        key, value = message.key(), message.value()
        assert key is not None
        assert value is not None
        found.append((key, json.loads(value)))
        message = consumer.poll(2)
    consumer.close()
    return found


@pytest.mark.parametrize(
    ("master", "victims"),
    [(LOCAL, ("driver", "jvm", "broker")), (EXECUTORS, ("executor", "driver"))],
    ids=["local", "executors"],
)
def test_each_result_is_there_once(
    spark_jars: str, tmp_path: Path, master: str, victims: tuple[str, ...], figure: Callable[[str], None]
) -> None:
    with BrokerProcess(tmp_path / "broker", {"num.partitions": str(PARTITIONS)}) as broker:
        write_settings(tmp_path, broker.bootstrap, master, spark_jars)
        with Writing(broker.bootstrap, TOPIC, event, PARTITIONS) as writing:
            wait_until(lambda: len(writing.acknowledged) > 100, "the first events")
            done = kill_by_turns(tmp_path, "derive", broker, victims)
        write_settings(tmp_path, broker.bootstrap, LOCAL, spark_jars)
        # One that is so much later that all windows are over.
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        last = json.dumps({"page": "/", "at": (NOW + timedelta(hours=19)).isoformat()})
        producer.produce(TOPIC, last, partition=0)
        assert producer.flush(30) == 0
        with JobProcess(tmp_path, "derive", "--catch-up") as catching_up:
            assert catching_up.wait() == 0, catching_up.complaint()
        results = read_feed(broker.bootstrap)
    twice = [key for key, count in Counter(key for key, _ in results).items() if count > 1]
    assert not twice, f"{len(twice)} of {len(results)} results are there twice: {twice[:3]}"
    found = {(str(value["start"]), str(value["page"])): value["count"] for _, value in results}
    assert found == expected(list(writing.acknowledged.values()))
    events = len(writing.acknowledged)
    figure(f"{master}: {done}, {events} events, {len(found)} results")
