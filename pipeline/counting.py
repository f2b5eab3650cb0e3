"""A producer that counts: what brokers have acknowledged, by topic and minute, told to the audit topic.

For your own programs, in place of confluent_kafka.Producer:

    with CountingProducer({"bootstrap.servers": "127.0.0.1:9092"}, name="shop") as producer:
        producer.produce("orders", key=b"7", value=b"...")

A count is a running total of one cell: of one producer, from its start to its end, the records of one topic and minute.
So it does no harm if a message with counts comes twice, or is lost and followed by a later one.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.minutes import minute_of, minute_text

__all__ = ["Count", "CountingProducer", "librdkafka"]

Headers = Sequence[tuple[str, bytes | None]]
OnDelivery = Callable[[Any, Any], None]
_FULL = 10
"""Times `cells`: so many counts that no broker has acknowledged, and no more records are taken."""
_HURRY_S = 0.2


def librdkafka() -> Any:
    try:
        import confluent_kafka
    except ModuleNotFoundError:
        raise PipelineFailed("confluent-kafka is not installed: run pip install 'barnabas[spark]'.") from None
    return confluent_kafka


class Count(msgspec.Struct, frozen=True):
    """A message of the audit topic, as JSON."""

    producer: str
    incarnation: str
    cell: int
    """A number of its own for each; the same topic and minute may get a second one."""
    topic: str
    minute: str
    acknowledged: int
    failed: int
    """They may or may not be in the log: a broker that has died may have written what it did not acknowledge."""


class _Cell:
    __slots__ = ("acknowledged", "asked", "failed", "number", "told")

    def __init__(self, number: int) -> None:
        self.number = number
        self.acknowledged = 0
        self.failed = 0
        self.asked = 0
        """How many of both when a message with them was last handed over, and when one was last acknowledged."""
        self.told = 0

    @property
    def both(self) -> int:
        return self.acknowledged + self.failed


class CountingProducer:
    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        audit_topic: str = "audit",
        name: str = "",
        every_seconds: float = 10.0,
        cells: int = 1_000,
    ) -> None:
        """`config` is librdkafka's; `cells` is how many topics and minutes it counts before it tells of them early."""
        if str(config.get("acks", config.get("request.required.acks", "all"))) == "0":
            raise PipelineFailed(
                "Nothing is acknowledged with acks=0, so that there is nothing to count: take acks=all."
            )
        if "transactional.id" in config:
            raise PipelineFailed("A transaction that is aborted would be counted: produce without transactional.id.")
        self._kafka = librdkafka()
        self._producer = self._kafka.Producer({**config})
        self._audit_topic = audit_topic
        self._name = name or str(config.get("client.id", "producer"))
        self._every_s = every_seconds
        self._most_cells = cells
        self._lock = threading.Lock()
        self._cells: dict[tuple[str, int], _Cell] = {}
        self._numbers = 0
        self._told_s = time.monotonic()
        self.incarnation = uuid.uuid4().hex
        self.acknowledged = 0
        self.failed = 0
        self.first_failure = ""

    def produce(
        self,
        topic: str,
        value: bytes | str | None = None,
        key: bytes | str | None = None,
        *,
        partition: int = -1,
        timestamp: int = 0,
        headers: Headers | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> None:
        """As Producer.produce: BufferError where too much waits for the brokers; call poll() and try again."""
        if len(self._cells) >= _FULL * self._most_cells:
            self._tell_if_due()
            raise BufferError("too many counts wait to be acknowledged")
        then = self._count if on_delivery is None else self._count_and(on_delivery)
        more = {"headers": list(headers)} if headers is not None else {}
        self._producer.produce(topic, value, key, partition, timestamp=timestamp, on_delivery=then, **more)
        self._tell_if_due()

    def poll(self, timeout: float = 0.0) -> int:
        events: int = self._producer.poll(timeout)
        self._tell_if_due()
        return events

    def flush(self, timeout: float = 60.0) -> int:
        """Waits until all records and their counts are acknowledged; answers how many of both are not."""
        deadline = time.monotonic() + timeout
        self._producer.flush(timeout)
        while True:
            self._tell()
            left = int(self._producer.flush(max(0.0, deadline - time.monotonic()))) + self._untold()
            if not left or time.monotonic() >= deadline:
                return left
            self._producer.poll(_HURRY_S)

    close = flush

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        left = self.close()
        if left and error is None:
            raise PipelineFailed(f"{left} records or counts were not acknowledged: see whether the brokers answer.")

    def __len__(self) -> int:
        return len(self._producer)

    def _count_and(self, on_delivery: OnDelivery) -> OnDelivery:
        def count(error: Any, message: Any) -> None:
            self._count(error, message)
            on_delivery(error, message)

        return count

    def _count(self, error: Any, message: Any) -> None:
        place = message.topic(), minute_of(message.timestamp()[1])
        with self._lock:
            cell = self._cells.get(place)
            if cell is None:
                self._numbers += 1
                cell = self._cells[place] = _Cell(self._numbers)
            if error is None:
                cell.acknowledged += 1
                self.acknowledged += 1
            else:
                cell.failed += 1
                self.failed += 1
                self.first_failure = self.first_failure or str(error)

    def _untold(self) -> int:
        with self._lock:
            return sum(cell.told < cell.both for cell in self._cells.values())

    def _tell_if_due(self) -> None:
        passed_s = time.monotonic() - self._told_s
        if passed_s >= self._every_s or (len(self._cells) >= self._most_cells and passed_s >= _HURRY_S):
            self._tell()

    def _tell(self) -> None:
        """Of the cells that have changed; those that are told, and have not changed since, are forgotten."""
        with self._lock:
            self._told_s = time.monotonic()
            for place in [place for place, cell in self._cells.items() if cell.told == cell.both]:
                del self._cells[place]
            changed = [(place, cell) for place, cell in self._cells.items() if cell.asked < cell.both]
            counts = [(cell, self._count_of(place, cell)) for place, cell in changed]
        for cell, count in counts:
            self._send(cell, count)

    def _count_of(self, place: tuple[str, int], cell: _Cell) -> Count:
        topic, minute = place
        text = minute_text(minute)
        return Count(self._name, self.incarnation, cell.number, topic, text, cell.acknowledged, cell.failed)

    def _send(self, cell: _Cell, count: Count) -> None:
        both = count.acknowledged + count.failed

        def ended(error: Any, _message: Any) -> None:
            with self._lock:
                if error is None:
                    cell.told = max(cell.told, both)
                else:
                    cell.asked = min(cell.asked, cell.told)

        with self._lock:
            cell.asked = max(cell.asked, both)
        try:
            # With a key of its own for each cell the topic may be compacted: the last count of a cell is its largest.
            key = f"{count.incarnation}/{count.cell}"
            self._producer.produce(self._audit_topic, msgspec.json.encode(count), key, on_delivery=ended)
        except (BufferError, self._kafka.KafkaException) as error:
            with self._lock:
                cell.asked = cell.told  # it comes with the next ones
                self.first_failure = self.first_failure or f"of the topic {self._audit_topic}: {error}"
