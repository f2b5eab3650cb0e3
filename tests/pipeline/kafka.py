"""Topics as the pipeline's tests make, fill and read them, with another client than the jobs' own code."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import confluent_kafka
import confluent_kafka.admin

from tests.clients.waiting import PATIENCE_S

__all__ = ["Cluster", "Seen", "rd", "rd_admin"]

rd: Any = confluent_kafka
rd_admin: Any = confluent_kafka.admin


class Seen(NamedTuple):
    """A record as a consumer gets it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int

    @property
    def content(self) -> tuple[object, ...]:
        return (self.key, self.value, self.headers, self.timestamp_ms)


class Cluster:
    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = rd_admin.AdminClient({"bootstrap.servers": bootstrap})

    def create(self, topic: str, partitions: int, config: Mapping[str, str] | None = None) -> None:
        new = rd_admin.NewTopic(topic, partitions, 1, config=dict(config or {}))
        self.admin.create_topics([new])[topic].result(PATIENCE_S)

    def produce(self, topic: str, rows: Iterable[tuple[int, Mapping[str, Any]]], **properties: Any) -> None:
        """Each row with its partition, and what `produce` takes by name."""
        producer = rd.Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, **properties})
        failed: list[object] = []

        def ended(error: object, _message: object) -> None:
            if error is not None:
                failed.append(error)

        for partition, row in rows:
            producer.produce(topic, partition=partition, on_delivery=ended, **row)
            producer.poll(0)
        assert producer.flush(PATIENCE_S) == 0
        assert not failed

    def topics(self) -> dict[str, int]:
        """And how many partitions they have."""
        found = self.admin.list_topics(timeout=PATIENCE_S).topics
        return {name: len(topic.partitions) for name, topic in found.items()}

    def grow(self, topic: str, partitions: int) -> None:
        self.admin.create_partitions([rd_admin.NewPartitions(topic, partitions)])[topic].result(PATIENCE_S)

    def config(self, topic: str) -> dict[str, str]:
        resource = rd_admin.ConfigResource(rd_admin.ResourceType.TOPIC, topic)
        found = self.admin.describe_configs([resource])[resource].result(PATIENCE_S)
        return {key: entry.value for key, entry in found.items()}

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        place = rd.TopicPartition(topic, partition, offset)
        self.admin.delete_records([place])[place].result(PATIENCE_S)

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        place = rd.TopicPartition(topic, partition)
        specs = (rd_admin.OffsetSpec.earliest(), rd_admin.OffsetSpec.latest())
        first, end = (self.admin.list_offsets({place: spec})[place].result(PATIENCE_S).offset for spec in specs)
        return first, end

    def read(self, topic: str, partitions: int) -> dict[int, list[Seen]]:
        """All records, by partition."""
        consumer = self._consumer()
        found: dict[int, list[Seen]] = {number: [] for number in range(partitions)}
        places = [rd.TopicPartition(topic, number, rd.OFFSET_BEGINNING) for number in found]
        ends = {place.partition: consumer.get_watermark_offsets(place, PATIENCE_S)[1] for place in places}
        consumer.assign(places)
        positions = dict.fromkeys(found, 0)
        deadline = time.monotonic() + PATIENCE_S
        while any(positions[number] < ends[number] for number in found):
            assert time.monotonic() < deadline, f"{topic} was read up to {positions} of {ends} only"
            for message in consumer.consume(1_000, 0.05):
                deadline = time.monotonic() + PATIENCE_S
                if message.error() is not None:
                    assert message.error().code() == rd.KafkaError._PARTITION_EOF, message.error()
                    positions[message.partition()] = max(positions[message.partition()], message.offset())
                    continue
                positions[message.partition()] = message.offset() + 1
                found[message.partition()].append(_seen(message))
        consumer.close()
        return found

    def follow(self, topic: str, partitions: int, times: list[float]) -> Callable[[], None]:
        """Notes when each record comes, until it is called."""
        consumer = self._consumer()
        consumer.assign([rd.TopicPartition(topic, number, rd.OFFSET_BEGINNING) for number in range(partitions)])
        stopping = threading.Event()

        def take() -> None:
            while not stopping.is_set():
                got = consumer.consume(1_000, 0.02)
                times.extend([time.monotonic()] * sum(1 for message in got if message.error() is None))

        thread = threading.Thread(target=take)
        thread.start()

        def stop() -> None:
            stopping.set()
            thread.join()
            consumer.close()

        return stop

    def _consumer(self) -> Any:
        return rd.Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "tests",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )


def _seen(message: Any) -> Seen:
    return Seen(
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
        message.timestamp()[1],
    )
