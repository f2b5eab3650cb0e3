"""generate: a stream of activity into four topics, for trying and for tests. It needs no Spark."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import islice
from random import Random
from typing import Any

from barnabas.pipeline.counting import CountingProducer, librdkafka
from barnabas.pipeline.ending import told_to_end
from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.generating.activity import Record, records
from barnabas.pipeline.generating.daily import endless, spread
from barnabas.pipeline.generating.happenings import TOPICS
from barnabas.pipeline.progress import Say
from barnabas.pipeline.settings import Settings

__all__ = ["generate_live", "generate_past"]

_SAY_S = 2.0
_ANSWER_S = 10.0
_STALLED_S = 60.0
_LOOK_EVERY = 1_000
_SILENT = logging.getLogger("barnabas.pipeline.silent")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def generate_past(
    settings: Settings, *, count: int, begin_ms: int, end_ms: int, rate: float | None, seed: int, say: Say
) -> None:
    """So many records, written between two moments of the past as their timestamps have it, as fast as it goes."""
    moments = spread(begin_ms, end_ms, count, Random(seed))  # noqa: S311 - no secret
    made = _made(settings, moments, seed)
    _send(settings, _at_rate(made, rate) if rate else made, count, say)


def generate_live(settings: Settings, *, count: int | None, rate: float, seed: int, say: Say) -> None:
    """From now on, on average so many a second, until there are enough or it is told to end."""
    moments = endless(time.time_ns() // 1_000_000, rate, Random(seed))  # noqa: S311 - no secret
    _send(settings, _when_due(_made(settings, islice(moments, count), seed)), count, say)


def _made(settings: Settings, moments: Iterable[int], seed: int) -> Iterator[Record]:
    wanted = settings.generate
    return records(
        moments,
        seed=seed,
        users=wanted.users,
        pages=wanted.pages,
        late=wanted.late,
        malformed=wanted.malformed,
    )


def _at_rate(made: Iterable[Record], rate: float) -> Iterator[Record | None]:
    """None stands for: nothing is due yet."""
    began = time.monotonic()
    for number, record in enumerate(made):
        while number > (time.monotonic() - began) * rate:
            yield None
        yield record


def _when_due(made: Iterable[Record]) -> Iterator[Record | None]:
    for record in made:
        while record.written_ms > time.time_ns() // 1_000_000:
            yield None
        yield record


def _send(settings: Settings, made: Iterable[Record | None], count: int | None, say: Say) -> None:
    properties: dict[str, Any] = {"linger.ms": "50", "enable.idempotence": "true", **settings.producer_properties()}
    properties["logger"] = _SILENT  # what fails is told by us
    _create_topics(settings, properties)
    producer = CountingProducer(properties, audit_topic=settings.audit.topic, name="generate")
    sending = _Sending(producer, count, say)
    with told_to_end() as told:
        for record in made:
            if record is None:
                producer.poll(0.05)
            else:
                sending.take(record)
            if told:
                break
            sending.tell_if_due()
    left = producer.close(_STALLED_S)
    if producer.failed or left:
        why = f": {producer.first_failure}" if producer.first_failure else ""
        raise PipelineFailed(
            f"{producer.failed + left:,} records or counts were not acknowledged{why}. See barnabas doctor."
        )
    sending.tell("wrote")


class _Sending:
    def __init__(self, producer: CountingProducer, count: int | None, say: Say) -> None:
        self._producer = producer
        self._count = count
        self._say = say
        self._taken = 0
        self._began = time.monotonic()
        self._said = self._began

    def take(self, record: Record) -> None:
        give_up = 0.0
        while True:
            try:
                self._producer.produce(record.topic, record.value, record.key, timestamp=record.written_ms)
                break
            except BufferError:
                if self._producer.poll(0.1):
                    give_up = 0.0
                give_up = give_up or time.monotonic() + _STALLED_S
                if time.monotonic() > give_up:
                    raise PipelineFailed(
                        f"The brokers took nothing for {_STALLED_S:g} s after {self._producer.acknowledged:,} records. "
                        "See barnabas doctor."
                    ) from None
        self._taken += 1
        if self._taken % _LOOK_EVERY == 0:
            self._producer.poll(0)

    def tell_if_due(self) -> None:
        if self._taken % _LOOK_EVERY == 0 and time.monotonic() - self._said >= _SAY_S:
            self._said = time.monotonic()
            self.tell("writing")

    def tell(self, doing: str) -> None:
        seconds = time.monotonic() - self._began
        done = self._producer.acknowledged
        of = f" of {self._count:,}" if self._count and doing == "writing" else ""
        self._say(
            f"{doing} {done:,}{of} records in {seconds:.1f} s, {done / seconds:,.0f} a second",
            event=doing,
            records=done,
            seconds=round(seconds, 3),
        )


def _create_topics(settings: Settings, properties: dict[str, Any]) -> None:
    kafka = librdkafka()
    admins = import_module("confluent_kafka.admin")
    try:
        admin = admins.AdminClient(properties)
        there = admin.list_topics(timeout=_ANSWER_S).topics
        partitions = dict.fromkeys(TOPICS, settings.generate.partitions) | {settings.audit.topic: 1}
        new = [admins.NewTopic(name, number, -1) for name, number in partitions.items() if name not in there]
        made = admin.create_topics(new, request_timeout=_ANSWER_S) if new else {}
        problems = [future.exception() for future in made.values()]
    except kafka.KafkaException as problem:
        problems = [problem]
    for each in filter(None, problems):
        error = each.args[0]
        if error.code() in (kafka.KafkaError._TRANSPORT, kafka.KafkaError._TIMED_OUT):
            raise PipelineFailed(f"No broker answers at {settings.bootstrap}: start one, or mend bootstrap.servers.")
        if error.code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
            raise PipelineFailed(f"A topic could not be created: {error.str()}.")
