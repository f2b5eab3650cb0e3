"""Rows into topics, through librdkafka, since Spark's own sink can set no timestamps. It runs where the rows are.

A row is written once and in its order, as long as its writer lives. What a writer that was killed has left in a
partition is a beginning of what it was given: nothing is appended behind a row that could not be.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self

from barnabas.pipeline.failures import PipelineFailed

try:
    from confluent_kafka import KafkaError, KafkaException, Producer
except ModuleNotFoundError as missing:
    raise PipelineFailed("confluent-kafka is not installed: run pip install 'barnabas[spark]'.") from missing

__all__ = ["QUIET", "Place", "Row", "Writer"]

_PATIENCE_KEYS = ("message.timeout.ms", "delivery.timeout.ms")
_PATIENCE_S = 120.0
_LOOK_S = 0.1
_OURS = {
    "acks": "all",
    "enable.idempotence": "true",
    # Of a row that is refused, those behind it may be on their way already: they are refused with it.
    "enable.gapless.guarantee": "true",
    # A row that is given up for its age would be overtaken. Who waits for too long ends the writer as a whole.
    "message.timeout.ms": "0",
}
_UNLESS_GIVEN = {
    # How large a record may be is the topic's to say, and compressed it is smaller than here.
    "message.max.bytes": str(100 << 20),
    "queue.buffering.max.kbytes": str(128 << 10),
    "linger.ms": "20",
}
_logger = logging.getLogger("barnabas.pipeline.librdkafka")
_logger.addHandler(logging.NullHandler())
_logger.propagate = False
QUIET: Mapping[str, Any] = {"logger": _logger, "log.connection.close": "false"}
"""For librdkafka's clients: what fails is told in our words."""


class Row(NamedTuple):
    topic: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp_ms: int | None = None
    """None: now. librdkafka means the same by 0, for which 1 is written."""
    partition: int | None = None
    """None: by the key, as Java's clients do."""


class Place(NamedTuple):
    partition: int
    offset: int


class Writer:
    def __init__(self, properties: Mapping[str, str], *, transactional_id: str | None = None) -> None:
        """Properties are librdkafka's; its timeout of messages is here how long to wait for any answer.

        With a transactional id all that is sent at once is a transaction, and an earlier writer with that id is ended.
        """
        given = {**_UNLESS_GIVEN, "partitioner": "murmur2_random", **properties}
        patience = [float(given.pop(key)) / 1000 for key in _PATIENCE_KEYS if key in given]
        self._patience_s = next((seconds for seconds in patience if seconds > 0), _PATIENCE_S)
        self._trouble: KafkaError | None = None
        self._is_transactional = transactional_id is not None
        ours = dict(_OURS)
        if transactional_id is not None:
            ours["transactional.id"] = transactional_id
            del ours["message.timeout.ms"]  # the transaction's own is enough
        try:
            self._producer: Any = Producer({**given, **ours, **QUIET, "error_cb": self._remember})
        except KafkaException as error:
            raise PipelineFailed(f"The writer's properties are wrong: {error.args[0].str()}.") from None
        if self._is_transactional:
            self._begin()

    def _begin(self) -> None:
        try:
            self._producer.init_transactions(self._patience_s)
        except KafkaException as error:
            raise PipelineFailed(
                f"The cluster begins no transaction: {error.args[0].str()}. Set transactional = false, if it has none."
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """All that was sent has been waited for, unless something failed: then the rest shall not go out any more."""
        self._producer.purge()
        self._producer.poll(0)

    def send(self, rows: Iterable[Row]) -> list[Place]:
        """Returns when the cluster has them all, with where each lies. Rows are read as they can be sent."""
        if not self._is_transactional:
            return self._send(rows)
        try:
            self._producer.begin_transaction()
            places = self._send(rows)
            self._producer.commit_transaction(self._patience_s)
        except KafkaException as error:
            raise PipelineFailed(
                f"The transaction could not be committed: {error.args[0].str()}. Start the job again, which goes on "
                "where it was."
            ) from None
        return places

    def _send(self, rows: Iterable[Row]) -> list[Place]:
        sending = _Sending()
        for number, row in enumerate(rows):
            sending.places.append(None)
            self._produce(row, partial(sending.ended, number, row.topic), sending)
        while sending.waiting:
            self._look(sending, _LOOK_S)
        return [place for place in sending.places if place is not None]

    def _produce(self, row: Row, ended: Any, sending: _Sending) -> None:
        options: dict[str, Any] = {}
        if row.timestamp_ms is not None:
            options["timestamp"] = row.timestamp_ms or 1
        if row.partition is not None:
            options["partition"] = row.partition
        while True:
            try:
                self._producer.produce(
                    row.topic, row.value, row.key, on_delivery=ended, headers=list(row.headers), **options
                )
                break
            except BufferError:
                self._look(sending, _LOOK_S)
            except KafkaException as error:
                self._look(sending, _LOOK_S)  # which may say why librdkafka takes no more
                raise _failed(row.topic, error.args[0]) from None
        self._look(sending, 0)

    def _look(self, sending: _Sending, seconds: float) -> None:
        before = sending.waiting
        try:
            self._producer.poll(seconds)
        except KafkaException as error:
            self._trouble = error.args[0]
        sending.check()
        now = time.monotonic()
        if sending.waiting != before or not before:
            sending.heard = now
        elif now - sending.heard > self._patience_s:
            why = f": {self._trouble.str()}" if self._trouble is not None else ""
            raise PipelineFailed(
                f"The cluster has taken no record for {self._patience_s:.0f} s{why}. Start its brokers, then start the "
                "job again, which goes on where it was."
            )

    def _remember(self, error: KafkaError) -> None:
        self._trouble = error


class _Sending:
    def __init__(self) -> None:
        self.places: list[Place | None] = []
        self.reported = 0
        self.heard = time.monotonic()
        self._failure: PipelineFailed | None = None

    @property
    def waiting(self) -> int:
        return len(self.places) - self.reported

    def ended(self, number: int, topic: str, error: KafkaError | None, message: Any) -> None:
        self.reported += 1
        if error is None:
            self.places[number] = Place(message.partition(), message.offset())
        elif self._failure is None or self._failure.args[0].endswith(_BEHIND):
            self._failure = _failed(topic, error)

    def check(self) -> None:
        if self._failure is not None:
            raise self._failure


_BEHIND = "was not written, as one before it could not be."


def _failed(topic: str, error: KafkaError) -> PipelineFailed:
    code = error.code()
    if code in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError._GAPLESS_GUARANTEE):
        return PipelineFailed(f"A record for {topic} {_BEHIND}")
    if code in (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE):
        return PipelineFailed(f"{topic} takes no record of such a size: raise its max.message.bytes.")
    if code in (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART):
        return PipelineFailed(f"There is no topic {topic} to write to: create it.")
    if code == KafkaError._UNKNOWN_PARTITION:
        return PipelineFailed(f"{topic} has fewer partitions than are written to: add some.")
    if code == KafkaError.INVALID_TIMESTAMP:
        return PipelineFailed(
            f"{topic} takes no record of such an age: raise its message.timestamp.before.max.ms (or .after.max.ms)."
        )
    return PipelineFailed(f"{topic} did not take a record: {error.str()}.")
