"""A PySpark job (job.py) that takes records from one topic into another; and both topics, seen with another client."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from compat.rounds.adapter import Client, ConsumerSettings, Received, take
from tests.kafka.classpath import CACHE

__all__ = ["PARTITIONS", "SPARK_S", "Ask", "SparkMissingError", "Topics", "find_jars", "spark"]

HERE = Path(__file__).parent
PARTITIONS = 3
SPARK_S = 90
"""Until what was sent has gone through Spark, on a machine that does other things too."""


class SparkMissingError(Exception):
    """The message says what to do."""


def find_jars() -> str:
    """Spark's Kafka source and what it needs, for spark.jars."""
    if importlib.util.find_spec("pyspark") is None:
        raise SparkMissingError("pyspark is not installed: run `make spark`")
    if shutil.which("java") is None:
        raise SparkMissingError("no `java` on the PATH: install a JDK, 17 or newer")
    version = re.search(r"<spark\.version>(.+?)<", (HERE / "pom.xml").read_text())
    assert version is not None
    directory = CACHE / f"spark-{version[1]}"
    if not (directory / "pom.sha256").is_file():
        raise SparkMissingError(f"the jars of Spark's Kafka source {version[1]} are not in .cache/: run `make spark`")
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

    def __init__(self, client: Client, bootstrap: str, name: str) -> None:
        self._client = client
        self._bootstrap = bootstrap
        self._is_there = False
        self.source, self.target = f"{name}-from", f"{name}-to"
        self.epoch_ms = int(time.time() * 1000) - 3_600_000

    def produce(self, numbers: range) -> None:
        producer = self._client.produce(self._bootstrap, codec="zstd")
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
        """How many records the target has; none while there is no target."""
        if not self._is_there:
            admin = self._client.administer(self._bootstrap)
            self._is_there = self.target in admin.topics()
            admin.close()
            if not self._is_there:
                return 0
        consumer = self._client.consume(ConsumerSettings(self._bootstrap, self.target))
        consumer.assign(0)
        first, end = consumer.bounds(0)
        consumer.close()
        assert first == 0
        return end

    def read(self) -> list[Received]:
        """All of them."""
        end = self.end()
        consumer = self._client.consume(ConsumerSettings(self._bootstrap, self.target))
        consumer.assign(0)
        found = take(consumer, end)
        consumer.close()
        return found

    def check(self, count: int) -> None:
        """The target has the first so many, each once, with key and headers."""
        found = self.read()
        assert sorted(int(one.value or b"") for one in found) == list(range(count))
        assert all(one.key == b"key " + (one.value or b"") and one.headers == (("n", one.value),) for one in found)
