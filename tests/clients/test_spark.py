"""PySpark's Kafka source and sink: a stream from one topic into another, from its checkpoint, once each record."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from compat.rounds.adapter import Client, ConsumerSettings, Received, load, take
from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import wait_until
from tests.kafka.classpath import CACHE

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent / "spark"
PARTITIONS = 3
SPARK_S = 90
"""Until what was sent has gone through Spark, on a machine that does other things too."""


def missing(what: str) -> None:
    if os.environ.get("BARNABAS_REQUIRE_SPARK") == "1":
        pytest.fail(what, pytrace=False)
    pytest.skip(what)


@pytest.fixture(scope="session")
def jars() -> str:
    """Spark's Kafka source and what it needs, for spark.jars."""
    if importlib.util.find_spec("pyspark") is None:
        missing("pyspark is not installed: run `make spark`")
    if shutil.which("java") is None:
        missing("no `java` on the PATH: install a JDK, 17 or newer")
    version = re.search(r"<spark\.version>(.+?)<", (HERE / "pom.xml").read_text())
    assert version is not None
    directory = CACHE / f"spark-{version[1]}"
    if not (directory / "pom.sha256").is_file():
        missing(f"the jars of Spark's Kafka source {version[1]} are not in .cache/: run `make spark`")
    return ",".join(str(jar) for jar in sorted(directory.glob("*.jar")))


Ask = Callable[..., dict[str, Any]]


@contextmanager
def spark(log: Path, *arguments: str) -> Iterator[Ask]:
    with log.open("wb") as errors:
        job = subprocess.Popen(
            [sys.executable, str(HERE / "job.py"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert job.stdin is not None
    assert job.stdout is not None

    def ask(**what: Any) -> dict[str, Any]:
        assert job.stdin is not None
        assert job.stdout is not None
        job.stdin.write(f"{json.dumps(what)}\n")
        job.stdin.flush()
        line = job.stdout.readline()
        assert line, f"the job ended:\n{log.read_text()[-4000:]}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    try:
        yield ask
    finally:
        job.stdin.close()
        try:
            job.wait(30)
        except subprocess.TimeoutExpired:
            job.kill()
            job.wait()
        job.stdout.close()


class Topics:
    """The source and the target, seen with another client."""

    def __init__(self, client: Client, broker: BrokerProcess, name: str) -> None:
        self._client = client
        self._broker = broker
        self.source, self.target = f"{name}-from", f"{name}-to"
        self.epoch_ms = int(time.time() * 1000) - 3_600_000

    def produce(self, numbers: range) -> None:
        producer = self._client.produce(self._broker.bootstrap, codec="zstd")
        for number in numbers:
            producer.send(
                self.source,
                b"%d" % number,
                key=b"key %d" % number,
                partition=number % PARTITIONS,
                headers=(("n", b"%d" % number),),
                timestamp=self.epoch_ms + number,
            )
        producer.flush()
        producer.close()

    def end(self) -> int:
        """How many records the target has."""
        consumer = self._client.consume(ConsumerSettings(self._broker.bootstrap, self.target))
        consumer.assign(0)
        first, end = consumer.bounds(0)
        consumer.close()
        assert first == 0
        return end

    def read(self) -> list[Received]:
        """All of them."""
        end = self.end()
        consumer = self._client.consume(ConsumerSettings(self._broker.bootstrap, self.target))
        consumer.assign(0)
        found = take(consumer, end)
        consumer.close()
        return found

    def check(self, count: int) -> None:
        """The target has the first so many, each once, with key and headers."""
        found = self.read()
        assert sorted(int(one.value or b"") for one in found) == list(range(count))
        assert all(one.key == b"key " + (one.value or b"") and one.headers == (("n", one.value),) for one in found)


def test_a_stream(own_broker: Callable[..., BrokerProcess], jars: str, name: str, tmp_path: Path) -> None:
    broker = own_broker()
    client = load("confluent-kafka")
    admin = client.administer(broker.bootstrap)
    topics = Topics(client, broker, name)
    admin.create_topic(topics.source, PARTITIONS)

    with spark(
        tmp_path / "spark.log", jars, broker.bootstrap, topics.source, topics.target, str(tmp_path / "checkpoint")
    ) as ask:
        topics.produce(range(1_000))
        assert ask(take="on") == {}
        wait_until(lambda: topics.target in admin.topics(), "the sink to have its topic made", SPARK_S)
        wait_until(lambda: topics.end() >= 1_000, "the stream to begin", SPARK_S)
        broker.restart(kill=True)
        topics.produce(range(1_000, 1_600))
        wait_until(lambda: topics.end() >= 1_600, "the stream to go on", SPARK_S)
        assert ask(take="stop") == {"rows": 1_600}
        topics.check(1_600)
        assert admin.partitions(topics.target) == 1

        topics.produce(range(1_600, 1_900))
        broker.restart()
        assert ask(take="all", fail_on_data_loss=True) == {"rows": 300}
        topics.check(1_900)

        since = ask(since=topics.epoch_ms + 1_550)
        assert sorted(map(int, since["values"])) == list(range(1_550, 1_900))

        # What it had not read is deleted: it says so, or goes on with what is left.
        topics.produce(range(1_900, 2_200))
        less, before = 1_900 % PARTITIONS, 700
        assert admin.delete_records(topics.source, less, before) == before
        failed = ask(take="all", fail_on_data_loss=True)
        assert "data" in failed["failed"].lower()
        assert "lost" in failed["failed"].lower() or "missed" in failed["failed"].lower()
        read_again = ask(take="all", fail_on_data_loss=False)
        assert "failed" not in read_again
        left = [
            number for number in range(1_900, 2_200) if number % PARTITIONS != less or number // PARTITIONS >= before
        ]
        found = [int(one.value or b"") for one in topics.read()]
        assert sorted(number for number in found if number < 1_900) == list(range(1_900))
        # The batch that failed had written some of it: Spark's sink promises no more than once at least.
        assert sorted({number for number in found if number >= 1_900}) == left
    admin.close()
