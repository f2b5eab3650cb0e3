"""What cells have programs do with a broker."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.beside import drop_from_page_cache, repeated
from bench.kafkas_tools import Load, producer_command
from bench.side import Side

__all__ = ["fill", "librdkafka", "load", "load_at", "producing", "reading_old", "warm_up", "writing_back"]

WARM_UP, WARM_UP_PARTITIONS = "warm-up", 4
WARM_UP_A_SECOND = 100_000
BESIDE = "beside"
WITHOUT_END = 1_000_000_000
WRITTEN_MIB = 1024


def load(side: Side, request: str, topic: str, **options: Any) -> dict[str, float]:
    """What the raw client has measured."""
    return load_at(side, side.bootstrap, request, topic, **options)


def load_at(side: Side, address: str, request: str, topic: str, **options: Any) -> dict[str, float]:
    """It knows one address, and no other broker."""
    result: dict[str, float] = json.loads(side.module("bench.load", address, request, topic, *_as_words(options)))
    return result


def librdkafka(side: Side, what: str, topic: str, **options: Any) -> dict[str, float]:
    result: dict[str, float] = json.loads(
        side.module("bench.librdkafka", what, side.bootstrap, topic, *_as_words(options))
    )
    return result


def _as_words(options: dict[str, Any]) -> list[str]:
    return [str(word) for key, value in options.items() for word in (f"--{key.replace('_', '-')}", value)]


def warm_up(side: Side, seconds: float) -> None:
    """What all cells do: small requests and large ones, and a consumer that reads it all."""
    side.create(WARM_UP, WARM_UP_PARTITIONS)
    options = {"connections": 8, "in_flight": 8, "numbers": WARM_UP_PARTITIONS, "seconds": seconds / 2}
    load(side, "produce", WARM_UP, **options)
    librdkafka(side, "produce", WARM_UP, records=int(seconds * WARM_UP_A_SECOND))
    count = side.records(WARM_UP, WARM_UP_PARTITIONS)
    librdkafka(side, "consume", WARM_UP, records=count, partitions=WARM_UP_PARTITIONS)


def fill(side: Side, topic: str, records: int, *, record_bytes: int = 100, partitions: int = 4) -> None:
    side.create(topic, partitions)
    librdkafka(side, "produce", topic, records=records, record_bytes=record_bytes)
    side.check_records(topic, partitions, records)


@contextmanager
def producing(side: Side, a_second: int, record_bytes: int) -> Iterator[str]:
    """Kafka's producer, to a topic of its own, from its first record on."""
    topic = f"{BESIDE}-{len(side.commands)}"
    side.create(topic, WARM_UP_PARTITIONS)
    command = producer_command(side, Load(topic, WITHOUT_END, record_bytes, a_second=a_second))
    with repeated(command):
        side.wait_for_records(topic, WARM_UP_PARTITIONS)
        yield topic


@contextmanager
def reading_old(side: Side, topic: str, records: int) -> Iterator[None]:
    """A consumer reads it all, again and again, and each time the disk has to be asked for it."""
    options = {"records": records, "partitions": 1}
    command = [sys.executable, "-m", "bench.librdkafka", "consume", side.bootstrap, topic, *_as_words(options)]
    with repeated(command, before_each=lambda: drop_from_page_cache(side.data / f"{topic}-0")):
        yield


@contextmanager
def writing_back(side: Side) -> Iterator[None]:
    """The disk under the broker has all the time something else to write."""
    file: Path = side.broker.directory / BESIDE
    command = ["dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={WRITTEN_MIB}", "conv=fdatasync", "status=none"]
    side.note(f"beside it: {' '.join(command).replace(str(file), 'FILE')}")
    try:
        with repeated(command):
            yield
    finally:
        file.unlink(missing_ok=True)
