"""What lies in the topics that a job writes, seen from the driver and from executors alike, through librdkafka."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.writing import QUIET, Row

try:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
except ModuleNotFoundError as missing:
    raise PipelineFailed("confluent-kafka is not installed: run pip install 'barnabas[spark]'.") from missing

__all__ = ["Found", "Target", "is_same"]

_PATIENCE_S = 30.0
_LOOK_S = 0.2
_AT_ONCE = 1_000
_OURS: Mapping[str, Any] = {
    "group.id": "barnabas-pipeline",  # librdkafka wants one; nothing is ever committed
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "allow.auto.create.topics": False,
    "queued.max.messages.kbytes": 16 << 10,
}


class Found(NamedTuple):
    offset: int
    row: Row


class Target:
    def __init__(self, properties: Mapping[str, str], *, isolation: str = "read_uncommitted") -> None:
        """Unless it is said otherwise, records of transactions that failed count too: they have offsets."""
        try:
            self._consumer: Any = Consumer({**properties, **QUIET, **_OURS, "isolation.level": isolation})
        except KafkaException as error:
            raise PipelineFailed(f"The target's properties are wrong: {error.args[0].str()}.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    def partitions(self, topic: str) -> int:
        """How many; 0 where there is no such topic."""
        try:
            found = self._consumer.list_topics(topic, _PATIENCE_S).topics[topic]
        except KafkaException as error:
            raise _failed(error.args[0]) from None
        if found.error is not None and found.error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise _failed(found.error)
        return len(found.partitions)

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """The first offset, and the one that the next record gets."""
        try:
            found = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), _PATIENCE_S)
        except KafkaException as error:
            raise _failed(error.args[0]) from None
        if found is None:
            raise PipelineFailed(_SILENT)
        first, end = found
        return first, end

    def records(self, topic: str, partition: int, start: int, end: int) -> Iterator[Found]:
        """Those of these offsets that are still there: retention and compaction may have taken some."""
        position = max(start, self.bounds(topic, partition)[0])
        if position >= end:
            return
        self._consumer.assign([TopicPartition(topic, partition, position or OFFSET_BEGINNING)])
        heard = time.monotonic()
        while position < end:
            for message in self._consumer.consume(_AT_ONCE, _LOOK_S):
                heard = time.monotonic()
                if message.error() is not None:
                    if message.error().code() != KafkaError._PARTITION_EOF:
                        raise _failed(message.error())
                    position = end
                    continue
                position = message.offset() + 1
                if message.offset() < end:
                    yield Found(message.offset(), _row(topic, partition, message))
            if time.monotonic() - heard > _PATIENCE_S:
                raise PipelineFailed(_SILENT)


def is_same(found: Row, wanted: Row) -> bool:
    return (
        found.key == wanted.key
        and found.value == wanted.value
        and tuple(found.headers) == tuple(wanted.headers)
        and found.timestamp_ms == (wanted.timestamp_ms or 1)
    )


_SILENT = "The target's cluster does not answer: start its brokers, or mend bootstrap.servers."


def _failed(error: KafkaError) -> PipelineFailed:
    if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._TIMED_OUT):
        return PipelineFailed(_SILENT)
    return PipelineFailed(f"The target's cluster says: {error.str()}.")


def _row(topic: str, partition: int, message: Any) -> Row:
    headers = tuple(message.headers() or ())
    return Row(topic, message.key(), message.value(), headers, message.timestamp()[1], partition)
