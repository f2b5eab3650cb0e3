"""Producers that go on whatever happens to the nodes, and when each of their records was acknowledged."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, Message, Producer

from bench.cluster.side import ClusterSide
from bench.side import until
from tests.kafka.classpath import find_classpath, java_command

__all__ = ["JavasProducer", "LibrdkafkasProducer", "longest_silence"]

A_SECOND = 200
RECORD_BYTES = 100
HEAP_MIB = 128
END_S = 10.0
SAY_NOTHING = 0
"""Of connections that end, which is what they are to do here."""


def longest_silence(since: float, acknowledged: Sequence[float]) -> tuple[float, float]:
    """When it began and when it ended: who asks for the first acknowledgement after a death does not mean those that
    were on their way."""
    moments = [since, *(each for each in sorted(acknowledged) if each > since)]
    return max(pairwise(moments), key=lambda each: each[1] - each[0])


class SteadyProducer(ABC):
    """As many records a second as clients are to send whom nobody is in a hurry about, to one topic, acks=all."""

    name: str

    def __init__(self, side: ClusterSide, topic: str) -> None:
        self._side, self._topic = side, topic
        self.acknowledged: list[float] = []
        """By the clock of the day."""

    def __enter__(self) -> Self:
        self._begin()
        until(lambda: len(self.acknowledged) > A_SECOND // 10, f"nothing is acknowledged to {self.name}")
        return self

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def silence_since(self, moment: float) -> tuple[float, float]:
        """The longest. It is waited for as many acknowledgements as come in two seconds."""
        until(
            lambda: sum(each > moment for each in self.acknowledged) > 2 * A_SECOND,
            f"nothing is acknowledged to {self.name} any more",
        )
        return longest_silence(moment, self.acknowledged)


class LibrdkafkasProducer(SteadyProducer):
    name = "librdkafka"

    def _begin(self) -> None:
        quick = {"linger.ms": 0, "log_level": SAY_NOTHING}
        self._producer = Producer({"bootstrap.servers": self._side.bootstrap, "acks": "all", **quick})
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def _send(self) -> None:
        while not self._is_over.is_set():
            self._producer.produce(self._topic, bytes(RECORD_BYTES), on_delivery=self._note)
            self._is_over.wait(1 / A_SECOND)
            self._producer.poll(0)

    def _note(self, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self.acknowledged.append(time.time())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()
        self._producer.flush(END_S)


class JavasProducer(SteadyProducer):
    """Kafka's VerifiableProducer, which prints a line for each acknowledgement."""

    name = "Java"

    def _begin(self) -> None:
        java = java_command(find_classpath(), heap_mib=HEAP_MIB, as_shipped=False)
        words = ["--bootstrap-server", self._side.bootstrap, "--topic", self._topic, "--acks", "-1"]
        words += ["--throughput", str(A_SECOND), "--max-messages", "-1"]
        self._side.note(self._side.spoken("kafka-verifiable-producer.sh", words))
        self._process = subprocess.Popen(
            [*java, "org.apache.kafka.tools.VerifiableProducer", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            if told["name"] == "producer_send_success":
                self.acknowledged.append(told["timestamp"] / 1e3)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join()
