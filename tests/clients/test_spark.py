"""PySpark's Kafka source and sink: a stream from one topic into another, from its checkpoint, once each record."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients.adapter import Client, ConsumerSettings, Received, load, take
from tests.clients.broker_process import BrokerProcess
from tests.kafka.classpath import CACHE

pytestmark = [pytest.mark.slow, pytest.mark.needs_apis(21)]

HERE = Path(__file__).parent / "spark"
JARS = CACHE / "spark-sql-kafka-4.0.0"


@pytest.fixture(scope="session")
def jars() -> str:
    """Spark's Kafka source and what it needs, for spark.jars."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed: pip install --editable '.[spark]'")
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            pytest.skip(f"no `{program}` on the PATH")
    if not JARS.is_dir():
        fresh = JARS.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        copy = ["dependency:copy-dependencies", f"-DoutputDirectory={fresh}"]
        subprocess.run(["mvn", "--batch-mode", "--quiet", "--file", HERE / "pom.xml", *copy], check=True, timeout=300)
        fresh.rename(JARS)
    return ",".join(str(jar) for jar in sorted(JARS.glob("*.jar")))


Stream = Callable[[bool], dict[str, Any]]


@contextmanager
def spark(log: Path, *arguments: str) -> Iterator[Stream]:
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

    def run(fail_on_data_loss: bool) -> dict[str, Any]:
        assert job.stdin is not None
        assert job.stdout is not None
        job.stdin.write(f"{str(fail_on_data_loss).lower()}\n")
        job.stdin.flush()
        line = job.stdout.readline()
        assert line, f"the job ended:\n{log.read_text()[-4000:]}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    try:
        yield run
    finally:
        job.stdin.close()
        try:
            job.wait(30)
        except subprocess.TimeoutExpired:
            job.kill()
            job.wait()
        job.stdout.close()


def produce(client: Client, broker: BrokerProcess, topic: str, numbers: range) -> None:
    producer = client.produce(broker.bootstrap, codec="zstd")
    for number in numbers:
        producer.send(
            topic, b"%d" % number, key=b"key %d" % number, partition=number % 3, headers=(("n", b"%d" % number),)
        )
    producer.flush()
    producer.close()


def read(client: Client, broker: BrokerProcess, topic: str, count: int | None) -> list[Received]:
    """Everything, which is so many."""
    consumer = client.consume(ConsumerSettings(broker.bootstrap, topic))
    consumer.assign(0)
    first, end = consumer.bounds(0)
    assert (first, end) == (0, end if count is None else count)
    found = take(consumer, end)
    consumer.close()
    return found


def test_a_stream(own_broker: Callable[..., BrokerProcess], jars: str, name: str, tmp_path: Path) -> None:
    broker = own_broker()
    client = load("confluent-kafka")
    admin = client.administer(broker.bootstrap)
    source, target = f"{name}-from", f"{name}-to"
    admin.create_topic(source, 3)
    admin.create_topic(target, 1)

    def check(numbers: list[int]) -> None:
        """All of them are in the target, once, with key and headers."""
        found = read(client, broker, target, len(numbers))
        assert sorted(int(one.value or b"") for one in found) == numbers
        assert all(one.key == b"key " + (one.value or b"") and one.headers == (("n", one.value),) for one in found)

    with spark(tmp_path / "spark.log", jars, broker.bootstrap, source, target, str(tmp_path / "checkpoint")) as stream:
        produce(client, broker, source, range(1_000))
        assert stream(True) == {"rows": 1_000}
        check(list(range(1_000)))
        produce(client, broker, source, range(1_000, 1_600))
        broker.restart()
        assert stream(True) == {"rows": 600}
        check(list(range(1_600)))

        # What it had not read is deleted: it says so, or goes on with what is left.
        produce(client, broker, source, range(1_600, 1_900))
        assert admin.delete_records(source, 1600 % 3, 600) == 600
        failed = stream(True)
        assert "data" in failed["failed"].lower()
        assert "lost" in failed["failed"].lower() or "missed" in failed["failed"].lower()
        read_again = stream(False)
        assert "failed" not in read_again
        left = [number for number in range(1_600, 1_900) if number % 3 != 1600 % 3 or number // 3 >= 600]
        found = [int(one.value or b"") for one in read(client, broker, target, None)]
        assert sorted(number for number in found if number < 1_600) == list(range(1_600))
        # The batch that failed had written some of it: Spark's sink promises no more than once at least.
        assert sorted({number for number in found if number >= 1_600}) == left
    admin.close()
