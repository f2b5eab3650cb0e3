"""A producer of either library for perf: many values at once, and how long each took.

Leaner than clients/producing.py: there a record is whatever may be in one, and here nothing but a value.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from barnabas.cli.clients.choosing import CONFLUENT_KAFKA
from barnabas.cli.clients.producing import longest_flush_s, made_confluent, made_kafka_python
from barnabas.cli.clients.words import failed, more_telling
from barnabas.cli.failures import CommandFailed

__all__ = ["PerfProducer", "open_perf_producer"]

_WAIT_S = 0.05
_STALLED_S = 60.0
_MOST_IN_FLIGHT = 100_000
_IN_FLIGHT_BYTES = 32 << 20
"""As Java's producer keeps by default, so that a slow broker's records do not wait until they expire."""


class PerfProducer(Protocol):
    ignored: list[str]
    """Properties that the library has not."""
    first_failure: BaseException | None
    failed: int

    def send(self, values: list[bytes]) -> None:
        """It may wait while too many wait to be sent."""

    def done(self) -> tuple[list[int], int]:
        """The latencies in milliseconds, and the bytes, of what was answered since it was asked last."""

    def flush(self) -> None: ...
    def close(self) -> None: ...
    def begin(self, *, is_first: bool) -> None:
        """A transaction."""

    def commit(self) -> None: ...
    def metrics(self) -> dict[str, float]: ...


def _in_flight_bytes(properties: Mapping[str, str]) -> int:
    text = properties.get("buffer.memory", "")
    return max(1024, int(text)) if text.isdigit() else _IN_FLIGHT_BYTES


def open_perf_producer(client: str, bootstrap: str, properties: Mapping[str, str], topic: str) -> PerfProducer:
    if client == CONFLUENT_KAFKA:
        return _Confluent(bootstrap, properties, topic)
    return _KafkaPython(bootstrap, properties, topic)


class _Confluent:
    def __init__(self, bootstrap: str, properties: Mapping[str, str], topic: str) -> None:
        from confluent_kafka import KafkaException

        self._error = KafkaException
        self._topic = topic
        self._latencies: list[float] = []
        self._bytes = 0
        self.failed = 0
        self.first_failure: BaseException | None = None
        self._statistics: dict[str, float] = {}
        self._producer, self.ignored = made_confluent(
            bootstrap,
            properties,
            {
                "stats_cb": self._keep_statistics,
                "queue.buffering.max.messages": _MOST_IN_FLIGHT,
                "queue.buffering.max.kbytes": _in_flight_bytes(properties) >> 10,
            },
        )

    def send(self, values: list[bytes]) -> None:
        messages: list[dict[str, Any]] = [{"value": value} for value in values]
        give_up_s = time.monotonic() + _STALLED_S
        while True:
            before = len(self._latencies) + self.failed
            try:
                taken = self._producer.produce_batch(self._topic, messages, on_delivery=self._ended)
            except BufferError:
                taken = None
            if taken == len(messages):
                self._producer.poll(0)
                return
            messages = [{"value": each["value"]} for each in messages if taken is None or self._is_to_wait(each)]
            self._producer.poll(_WAIT_S)
            if len(self._latencies) + self.failed > before:
                give_up_s = time.monotonic() + _STALLED_S
            elif time.monotonic() > give_up_s:
                raise CommandFailed(f"The broker took nothing for {_STALLED_S:g} s: see barnabas doctor.")

    def _is_to_wait(self, message: dict[str, Any]) -> bool:
        """It was not taken because too many wait already. What has another reason will never be taken."""
        error = message.get("_error")
        if error is None or error.code() == error._QUEUE_FULL:
            return error is not None
        self._ended(error, None)
        return False

    def _ended(self, error: Any, message: Any) -> None:
        if error is None:
            self._latencies.append(message.latency())
            self._bytes += len(message)
        else:
            self.failed += 1
            self.first_failure = more_telling(self.first_failure, self._error(error))

    def done(self) -> tuple[list[int], int]:
        latencies, self._latencies = self._latencies, []
        size, self._bytes = self._bytes, 0
        return [int(each * 1000) for each in latencies], size

    def flush(self) -> None:
        """In small steps, so that Ctrl-C is heard."""
        while self._producer.flush(_WAIT_S):
            pass

    def close(self) -> None:
        self._producer.purge()
        self._producer.flush(0)

    def begin(self, *, is_first: bool) -> None:
        try:
            if is_first:
                self._producer.init_transactions(_STALLED_S)
            self._producer.begin_transaction()
        except self._error as error:
            raise failed("A transaction could not be begun", error) from None

    def commit(self) -> None:
        try:
            self._producer.commit_transaction(_STALLED_S)
        except self._error as error:
            raise failed("A transaction could not be committed", error) from None

    def _keep_statistics(self, text: str) -> None:
        import json

        found = json.loads(text)
        self._statistics = {name: value for name, value in found.items() if isinstance(value, int | float)}

    def metrics(self) -> dict[str, float]:
        """librdkafka tells them at intervals, the last when the producer is asked again after one."""
        self._producer.poll(_WAIT_S)
        return self._statistics


class _KafkaPython:
    def __init__(self, bootstrap: str, properties: Mapping[str, str], topic: str) -> None:
        from kafka.errors import KafkaError

        self._error = KafkaError
        self._topic = topic
        self._latencies: list[int] = []
        self._sizes: list[int] = []
        self.failed = 0
        self.first_failure: BaseException | None = None
        self._in_flight_bytes = _in_flight_bytes(properties)
        self._longest_flush_s = longest_flush_s(properties)
        self._sent = 0
        self._producer, self.ignored = made_kafka_python(bootstrap, properties, {})

    def send(self, values: list[bytes]) -> None:
        for value in values:
            self._wait_for_room(min(_MOST_IN_FLIGHT, self._in_flight_bytes // (len(value) + 1)))
            self._sent += 1
            try:
                future = self._producer.send(self._topic, value)
            except (self._error, ValueError) as error:
                self._fail(error)
                continue
            # In the library's thread; appending is one step for Python.
            future.add_callback(self._ended, time.monotonic(), len(value))
            future.add_errback(self._fail)

    def _wait_for_room(self, most: int) -> None:
        give_up_s = time.monotonic() + _STALLED_S
        while self._sent - self._answered > most:
            time.sleep(_WAIT_S)
            if time.monotonic() > give_up_s:
                raise CommandFailed(f"The broker took nothing for {_STALLED_S:g} s: see barnabas doctor.")

    _answered = 0

    def _ended(self, sent_s: float, size: int, _metadata: object) -> None:
        self._latencies.append(int((time.monotonic() - sent_s) * 1000))
        self._sizes.append(size)
        self._answered += 1

    def _fail(self, error: BaseException) -> None:
        self.failed += 1
        self._answered += 1
        self.first_failure = more_telling(self.first_failure, error)

    def done(self) -> tuple[list[int], int]:
        count = len(self._sizes)
        latencies, sizes = self._latencies[:count], self._sizes[:count]
        del self._latencies[:count], self._sizes[:count]
        return latencies, sum(sizes)

    def flush(self) -> None:
        with suppress(self._error):
            self._producer.flush(self._longest_flush_s)
        if lost := self._sent - self._answered:
            self.failed += lost
            self.first_failure = self.first_failure or TimeoutError("Nothing was heard of them")

    def close(self) -> None:
        try:
            self._producer.close(0)
        except self._error:
            return

    def begin(self, *, is_first: bool) -> None:
        try:
            if is_first:
                self._producer.init_transactions()
            self._producer.begin_transaction()
        except self._error as error:
            raise failed("A transaction could not be begun", error) from None

    def commit(self) -> None:
        try:
            self._producer.commit_transaction()
        except self._error as error:
            raise failed("A transaction could not be committed", error) from None

    def metrics(self) -> dict[str, float]:
        found = {}
        for group, metrics in self._producer.metrics().items():
            for name, value in metrics.items():
                if isinstance(value, int | float):
                    found[f"{group}:{name}"] = value
        return found
