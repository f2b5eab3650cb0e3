"""A producer of either library, seen alike: records go in, and each says by a call how it ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from barnabas.cli.clients.choosing import CONFLUENT_KAFKA
from barnabas.cli.clients.quiet import quiet_logger
from barnabas.cli.clients.settings import confluent_settings, kafka_python_settings
from barnabas.cli.clients.words import failed
from barnabas.cli.failures import CommandFailed

__all__ = [
    "Done",
    "Headers",
    "Outgoing",
    "RecordProducer",
    "confluent_client",
    "longest_flush_s",
    "made_confluent",
    "made_kafka_python",
    "open_producer",
]

Headers = Sequence[tuple[str, bytes | None]]
Done = Callable[[BaseException | None], None]
"""Called once for each record: None when the broker has it. Of kafka-python in a thread of its own."""

_DELIVERY_S = 30
_MARGIN_S = 5.0
_MAX_BLOCK_S = 60.0
_BUFFER_BYTES = 32 << 20
_OVERHEAD_BYTES = 100
_LONGEST_WAIT_S = 0.1


class Outgoing(NamedTuple):
    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp: int | None = None

    @property
    def size(self) -> int:
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers


class RecordProducer(Protocol):
    @property
    def ignored(self) -> Sequence[str]:
        """Properties that the library has not."""

    def send(self, record: Outgoing, done: Done) -> None:
        """It may wait while too much waits to be sent. CommandFailed for what cannot be sent at all."""

    def flush(self, timeout_s: float | None = None) -> bool:
        """Whether all that was sent has ended, one way or the other."""

    def close(self) -> None:
        """At once: what is to be kept has been flushed."""


def open_producer(client: str, bootstrap: str, properties: Mapping[str, str]) -> RecordProducer:
    """Kafka's properties, in Kafka's words. A delivery that fails ends in half a minute unless they say otherwise."""
    timeout_ms = max(_DELIVERY_S * 1000, _milliseconds(properties, "request.timeout.ms"))
    values = {"delivery.timeout.ms": str(timeout_ms + _milliseconds(properties, "linger.ms"))} | dict(properties)
    cls = _Confluent if client == CONFLUENT_KAFKA else _KafkaPython
    return cls(bootstrap, values)


def _milliseconds(properties: Mapping[str, str], key: str) -> int:
    text = properties.get(key, "0").strip()
    return int(text) if text.isdigit() else 0


class _Budget:
    """How much may wait to be sent; kafka-python itself keeps whatever it is given."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._left = _milliseconds(properties, "buffer.memory") or _BUFFER_BYTES
        self.most = self._left
        self.wait_s = _milliseconds(properties, "max.block.ms") / 1000 or _MAX_BLOCK_S
        self._changed = threading.Condition()

    def take(self, size: int) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._left >= size or self._left == self.most, self.wait_s):
                raise CommandFailed(
                    f"The broker took nothing for {self.wait_s:g} s, and the buffer is full: "
                    "see whether it runs (barnabas doctor), or wait longer with --max-block-ms."
                )
            self._left -= size

    def give_back(self, size: int) -> None:
        with self._changed:
            self._left += size
            self._changed.notify()


class _NoKey:
    """Stands for no key where kafka-python insists on a key or a value: its serializer makes it None again."""


_NO_KEY = _NoKey()


class _KafkaPython:
    def __init__(self, bootstrap: str, properties: Mapping[str, str]) -> None:
        quiet_logger()
        from kafka.errors import KafkaError
        from kafka.serializer import Serializer

        class KeyOrNone(Serializer):  # type: ignore[misc]
            def serialize(self, _topic: str, _headers: object, key: object) -> object:
                return None if key is _NO_KEY else key

        self._budget = _Budget(properties)
        self._errors = KafkaError
        self._producer, self.ignored = made_kafka_python(bootstrap, properties, {"key_serializer": KeyOrNone()})
        self._longest_flush_s = longest_flush_s(properties)

    def send(self, record: Outgoing, done: Done) -> None:
        if any(value is None for _, value in record.headers):
            raise CommandFailed(
                "kafka-python cannot send a header whose value is null: use --client confluent-kafka "
                "(pip install 'barnabas[fast]')."
            )
        size = record.size + _OVERHEAD_BYTES
        self._budget.take(size)

        def ended(error: BaseException | None) -> None:
            self._budget.give_back(size)
            done(error)

        key = _NO_KEY if record.key is None else record.key
        try:
            future = self._producer.send(
                record.topic, record.value, key, list(record.headers), record.partition, record.timestamp
            )
        except (self._errors, ValueError) as error:
            # This record alone: the others go on.
            ended(error)
            return
        future.add_callback(lambda _: ended(None))
        future.add_errback(ended)

    def flush(self, timeout_s: float | None = None) -> bool:
        try:
            self._producer.flush(self._longest_flush_s if timeout_s is None else timeout_s)
        except self._errors:
            return False
        return True

    def close(self) -> None:
        try:
            self._producer.close(0)
        except self._errors:
            return


class _Confluent:
    def __init__(self, bootstrap: str, properties: Mapping[str, str]) -> None:
        from confluent_kafka import KafkaException

        self._budget = _Budget(properties)
        self._producer, self.ignored = made_confluent(
            bootstrap, properties, {"queue.buffering.max.kbytes": max(1, self._budget.most >> 10)}
        )
        self._failures = KafkaException

    def send(self, record: Outgoing, done: Done) -> None:
        def ended(error: Any, _message: object) -> None:
            done(None if error is None else self._failures(error))

        options: dict[str, Any] = {}
        if record.partition is not None:
            options["partition"] = record.partition
        if record.timestamp is not None:
            options["timestamp"] = record.timestamp
        if record.headers:
            options["headers"] = list(record.headers)
        give_up_s = time.monotonic() + self._budget.wait_s
        while True:
            try:
                self._producer.produce(record.topic, record.value, record.key, on_delivery=ended, **options)
            except BufferError:
                if time.monotonic() > give_up_s:
                    raise CommandFailed(
                        f"The broker took nothing for {self._budget.wait_s:g} s, and the buffer is full: "
                        "see whether it runs (barnabas doctor), or wait longer with --max-block-ms."
                    ) from None
                self._producer.poll(_LONGEST_WAIT_S)
            except (self._failures, ValueError, TypeError) as error:
                done(error)
                return
            else:
                self._producer.poll(0)
                return

    def flush(self, timeout_s: float | None = None) -> bool:
        """In small steps, so that Ctrl-C is heard."""
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        while self._producer.flush(_LONGEST_WAIT_S):
            if end_s is not None and time.monotonic() >= end_s:
                return False
        return True

    def close(self) -> None:
        self._producer.purge()
        self._producer.flush(0)


def longest_flush_s(properties: Mapping[str, str]) -> float:
    """After which every record has ended. kafka-python's own flush was seen to wait for ever when a broker died."""
    return (_milliseconds(properties, "delivery.timeout.ms") or _DELIVERY_S * 1000) / 1000 + _MARGIN_S


def made_kafka_python(bootstrap: str, properties: Mapping[str, str], more: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """A KafkaProducer, and the properties that it has not."""
    quiet_logger()
    from kafka import KafkaProducer
    from kafka.errors import KafkaError
    from kafka.partitioner.sticky import StickyPartitioner

    settings, ignored = kafka_python_settings(properties, KafkaProducer.DEFAULT_CONFIG)
    try:
        producer = KafkaProducer(
            bootstrap_servers=bootstrap.split(","), **({"partitioner": StickyPartitioner()} | dict(more) | settings)
        )
    except (KafkaError, ValueError, AssertionError) as error:
        raise failed("The producer could not be made", error) from None
    return producer, ignored


def made_confluent(bootstrap: str, properties: Mapping[str, str], more: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """A Producer of confluent_kafka, and the properties that it has not. Keys go where Java's producer sends them."""
    from confluent_kafka import Producer

    own = {"partitioner": "murmur2_random"}
    return confluent_client(Producer, bootstrap, own | dict(more) | confluent_settings(properties))


def confluent_client(cls: Any, bootstrap: str, settings: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Of confluent_kafka, without those settings that librdkafka does not know, and their names."""
    from confluent_kafka import KafkaException

    left = {"bootstrap.servers": bootstrap, "log_level": 0, "error_cb": lambda _: None} | dict(settings)
    ignored: list[str] = []
    while True:
        try:
            return cls(left, logger=quiet_logger()), ignored
        except KafkaException as error:
            text = str(error)
            unknown = next((key for key in left if f'"{key}"' in text and "No such" in text), None)
            if unknown is None:
                raise failed("The client could not be made", error) from None
            ignored.append(unknown)
            del left[unknown]
