"""pipeline.toml: which cluster, which lake, and what each job does. Paths in it count from its own directory."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from barnabas.pipeline.failures import PipelineFailed

__all__ = [
    "Audit",
    "Derived",
    "Generate",
    "Lake",
    "Land",
    "Mirror",
    "Replay",
    "Settings",
    "TopicFormat",
    "read_settings",
]

Whole = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(gt=0)]
Property = str | int | float | bool
_CALLED_ALIKE = ("bootstrap.servers", "client.id", "security.protocol", "sasl.mechanism", "sasl.kerberos.service.name")
_URI = re.compile(r"[a-z][a-z0-9+.-]*:")


class _Table(Struct, forbid_unknown_fields=True, rename="kebab", frozen=True):
    """A key that nobody knows is an error, and not a setting that does nothing."""


class Lake(_Table, frozen=True):
    path: str = "lake"
    merge_after: Whole = 16
    """So many files of one hour become one."""
    file_bytes: Whole = 128 << 20
    """A file of that size is left as it is."""


class Land(_Table, frozen=True):
    topics: list[str] = []
    pattern: str = ""
    """Topics whose whole name matches; new ones are picked up."""
    checkpoint: str = "checkpoints/land"
    every_seconds: Seconds = 10
    records_per_batch: Whole = 500_000
    start: Literal["earliest", "latest"] = "earliest"
    fail_on_data_loss: bool = True
    late_hours: Amount = 168
    """An event whose own time is earlier than its record's by more than that is quarantined."""
    early_hours: Amount = 24


class TopicFormat(_Table, frozen=True):
    """How the values of a topic are read."""

    schema: str
    """A file: Spark's DDL for JSON ("user STRING NOT NULL, at TIMESTAMP"), an .avsc for Avro."""
    format: Literal["json", "avro"] = "json"
    event_time: str = ""
    """The field that says when it happened; the record's timestamp does where there is none."""


class Derived(_Table, frozen=True):
    """A feed that is derived from a topic."""

    source: str
    topic: str
    kind: Literal["count", "sessions", "errors"]
    by: str
    """The field whose values are counted, or that a session or an error rate belongs to."""
    window: str = "1 minute"
    """How long a window is; of sessions, how long nothing may happen until one is over."""
    watermark: str = "2 minutes"
    """How much later than the newest event one may come and still be counted."""
    failed: str = ""
    """For error rates: an SQL expression over the fields that is true of an error."""
    top: Annotated[int, Meta(ge=0)] = 0
    """Of each window only so many, those with the highest counts; 0: all."""
    partitions: Whole = 1
    """Of the feed's topic, where it is made."""
    transactional: bool = False
    """A batch of results in one transaction, for readers with read_committed; for clusters that have transactions."""
    checkpoint: str = ""
    """checkpoints/derive-NAME"""
    every_seconds: Seconds = 10


class Audit(_Table, frozen=True):
    topic: str = "audit"
    """Where producers say how much they have sent."""


class Generate(_Table, frozen=True):
    """The stream that is made up."""

    partitions: Whole = 4
    """Of each topic, where it is not there yet."""
    users: Whole = 20_000
    pages: Whole = 500
    late: Share = 0.01
    """So many records tell of what happened earlier."""
    malformed: Share = 0.002


class Replay(_Table, frozen=True):
    checkpoint: str = "checkpoints/replay"


class Mirror(_Table, frozen=True):
    topics: list[str] = []
    pattern: str = ""
    """Topics whose whole name matches; new ones are picked up."""
    kafka: dict[str, Property] = {}
    """Properties of librdkafka, for the cluster that is written to. [kafka] is the one that is read."""
    producer: dict[str, Property] = {}
    """Those that only its producers have."""
    prefix: str = ""
    """Put before each topic's name."""
    offsets_topic: str = "mirror.offsets"
    """At the target: which offset of the source is which there."""
    checkpoint: str = "checkpoints/mirror"
    every_seconds: Seconds = 5
    records_per_batch: Whole = 500_000
    start: Literal["earliest", "latest"] = "earliest"
    fail_on_data_loss: bool = True


class Settings(_Table, frozen=True):
    kafka: dict[str, Property] = {}
    """Properties of Java's clients, which Spark has."""
    producer: dict[str, Property] = {}
    """Properties of librdkafka, which writes feeds: beside those of [kafka] that are called the same in both."""
    spark: dict[str, Property] = {}
    lake: Lake = Lake()
    land: Land = Land()
    topics: dict[str, TopicFormat] = {}
    derive: dict[str, Derived] = {}
    audit: Audit = Audit()
    generate: Generate = Generate()
    replay: Replay = Replay()
    mirror: Mirror = Mirror()
    directory: str = "."
    """Where the file lies. It is no key of the file."""

    @property
    def bootstrap(self) -> str:
        return str(self.kafka["bootstrap.servers"])

    def client_properties(self) -> dict[str, str]:
        return {key: _as_property(value) for key, value in self.kafka.items()}

    def producer_properties(self) -> dict[str, str]:
        alike = {key: value for key, value in self.kafka.items() if key in _CALLED_ALIKE}
        return {key: _as_property(value) for key, value in {**alike, **self.producer}.items()}

    def mirror_properties(self) -> dict[str, str]:
        return {key: _as_property(value) for key, value in self.mirror.kafka.items()}

    def mirror_producer_properties(self) -> dict[str, str]:
        given = {"compression.type": "lz4", **self.mirror.kafka, **self.mirror.producer}
        return {key: _as_property(value) for key, value in given.items()}

    def spark_properties(self) -> dict[str, str]:
        return {key: _as_property(value) for key, value in self.spark.items()}

    def place(self, path: str) -> str:
        """A path of the file as a URI or an absolute path."""
        return path if _URI.match(path) else str(Path(self.directory, path))


def read_settings(file: Path) -> Settings:
    try:
        text = file.read_text()
    except OSError as error:
        raise PipelineFailed(
            f"{file} cannot be read: {error.strerror}. Name the pipeline's settings with --config FILE."
        ) from None
    except UnicodeDecodeError:
        raise PipelineFailed(f"{file} is not text: it should be TOML.") from None
    try:
        tables = tomllib.loads(text)
        if "directory" in tables:
            raise PipelineFailed(f"{file}: there is no key directory; paths count from where the file lies.")
        settings = msgspec.convert({**tables, "directory": str(file.absolute().parent)}, Settings)
    except tomllib.TOMLDecodeError as error:
        raise PipelineFailed(f"{file} is not TOML: {error}.") from None
    except msgspec.ValidationError as error:
        raise PipelineFailed(f"{file}: {_in_words(str(error))}") from None
    if not settings.kafka.get("bootstrap.servers"):
        raise PipelineFailed(f'{file} names no cluster: give [kafka] "bootstrap.servers" = "HOST:PORT".')
    return settings


def _in_words(error: str) -> str:
    """msgspec's message with the keys as the file has them: "land.topics", and not "$.land.topics"."""
    sentence, _, where = error.partition(" - at ")
    key = where.strip("`").removeprefix("$.").removeprefix("$")
    return f"{key}: {sentence}." if key else f"{sentence}."


def _as_property(value: Property) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
