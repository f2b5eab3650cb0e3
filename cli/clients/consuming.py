"""A consumer of either library that reads partitions from offsets on, seen alike; for perf and replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from barnabas.cli.clients.choosing import CONFLUENT_KAFKA
from barnabas.cli.clients.producing import confluent_client
from barnabas.cli.clients.quiet import quiet_logger
from barnabas.cli.clients.settings import confluent_settings, kafka_python_settings
from barnabas.cli.clients.words import failed
from barnabas.client.cluster import Partition

__all__ = ["Incoming", "RecordConsumer", "made_consumer", "open_consumer"]

_MOST = 5000
_CLOSE_MS = 5000
_TIMESTAMP_TYPES = {1: 0, 2: 1}
"""librdkafka's to Kafka's."""


class Incoming(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


class RecordConsumer(Protocol):
    @property
    def ignored(self) -> Sequence[str]:
        """Properties that the library has not."""

    def poll(self, timeout_s: float) -> Sequence[Incoming]: ...

    def position(self, partition: Partition) -> int:
        """Of what comes next; -1 before anything came."""

    def pause(self, partition: Partition) -> None: ...
    def close(self) -> None: ...


def open_consumer(
    client: str, bootstrap: str, properties: Mapping[str, str], starts: Mapping[Partition, int]
) -> RecordConsumer:
    """Assigned to these partitions, from these offsets on. It is in no group and commits nothing."""
    cls = _Confluent if client == CONFLUENT_KAFKA else _KafkaPython
    return cls(bootstrap, properties, starts)


def made_consumer(client: str, bootstrap: str, properties: Mapping[str, str]) -> tuple[Any, list[str]]:
    """The library's own, neither assigned nor subscribed, and the properties that it has not."""
    if client == CONFLUENT_KAFKA:
        from confluent_kafka import Consumer

        # librdkafka asks for a group's name also where none is used; once its queue is full it fetches nothing for a
        # second, in which the queue is emptied many times over.
        own = {"group.id": "barnabas", "enable.auto.commit": "false", "fetch.queue.backoff.ms": "10"}
        return confluent_client(Consumer, bootstrap, own | confluent_settings(properties))
    quiet_logger()
    from kafka import KafkaConsumer
    from kafka.errors import KafkaError

    settings, ignored = kafka_python_settings(properties, KafkaConsumer.DEFAULT_CONFIG)
    try:
        return KafkaConsumer(bootstrap_servers=bootstrap.split(","), **settings), ignored
    except (KafkaError, ValueError, AssertionError) as error:
        raise failed("The consumer could not be made", error) from None


class _KafkaPython:
    def __init__(self, bootstrap: str, properties: Mapping[str, str], starts: Mapping[Partition, int]) -> None:
        from kafka import TopicPartition
        from kafka.errors import KafkaError

        self._error = KafkaError
        self._partition = TopicPartition
        self._consumer, self.ignored = made_consumer("", bootstrap, {"enable.auto.commit": "false"} | dict(properties))
        self._consumer.assign([TopicPartition(*each) for each in starts])
        for each, offset in starts.items():
            self._consumer.seek(TopicPartition(*each), offset)

    def poll(self, timeout_s: float) -> Sequence[Incoming]:
        try:
            found = self._consumer.poll(timeout_ms=int(timeout_s * 1000), max_records=_MOST)
        except self._error as error:
            raise failed("Records could not be read", error) from None
        return [record for records in found.values() for record in records]

    def position(self, partition: Partition) -> int:
        try:
            found = self._consumer.position(self._partition(*partition), timeout_ms=0)
        except self._error:
            return -1
        return -1 if found is None else int(found)

    def pause(self, partition: Partition) -> None:
        self._consumer.pause(self._partition(*partition))

    def close(self) -> None:
        self._consumer.close(autocommit=False, timeout_ms=_CLOSE_MS)


class _Confluent:
    def __init__(self, bootstrap: str, properties: Mapping[str, str], starts: Mapping[Partition, int]) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        self._error = KafkaException
        self._partition = TopicPartition
        own = {"enable.partition.eof": "true"} | dict(properties)
        self._consumer, self.ignored = made_consumer(CONFLUENT_KAFKA, bootstrap, own)
        self._consumer.assign([TopicPartition(*each, offset) for each, offset in starts.items()])
        self._ends: dict[Partition, int] = {}

    def poll(self, timeout_s: float) -> Sequence[Incoming]:
        from confluent_kafka import KafkaError

        try:
            # `consume` alone would wait until there are as many as it may give.
            first = self._consumer.poll(timeout_s)
            messages = [] if first is None else [first, *self._consumer.consume(_MOST, 0)]
        except self._error as why:
            raise failed("Records could not be read", why) from None
        found = []
        for message in messages:
            error = message.error()
            if error is None:
                found.append(_incoming(message))
            elif error.code() == KafkaError._PARTITION_EOF:
                # Behind the ends of transactions, which are no records.
                self._ends[Partition(message.topic(), message.partition())] = message.offset()
            elif not error.retriable() and error.code() not in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
                raise failed("Records could not be read", self._error(error))
        return found

    def position(self, partition: Partition) -> int:
        (found,) = self._consumer.position([self._partition(*partition)])
        return max(int(found.offset), self._ends.get(partition, -1), -1)

    def pause(self, partition: Partition) -> None:
        self._consumer.pause([self._partition(*partition)])

    def close(self) -> None:
        self._consumer.close()


def _incoming(message: Any) -> Incoming:
    kind, timestamp = message.timestamp()
    return Incoming(
        message.topic(),
        message.partition(),
        message.offset(),
        timestamp,
        _TIMESTAMP_TYPES.get(kind, -1),
        message.key(),
        message.value(),
        message.headers() or (),
    )
