"""What tests of jobs have around them: a broker, a lake in a directory, and the jobs to call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.pipeline.settings import Settings, read_settings
from barnabas.testing import Broker
from barnabas.testing.record import Record

__all__ = ["Row", "World"]


class Row(NamedTuple):
    """A record, as it is in the topic or in the lake."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class World:
    def __init__(self, spark: Any, broker: Broker, directory: Path, name: str) -> None:
        self.spark = spark
        self.broker = broker
        self.directory = directory
        self.topic = re.sub(r"[^a-zA-Z0-9._-]+", "-", name).strip("-")
        self.said: list[dict[str, Any]] = []

    def settings(self, text: str = "", *, land: str = "", kafka: str = "", bootstrap: str = "") -> Settings:
        """A whole pipeline.toml: [land] of this test's topic, unless `land` names others, and what `text` adds."""
        which = "" if re.search(r"^(topics|pattern)\s*=", land, re.MULTILINE) else f'topics = ["{self.topic}"]\n'
        file = self.directory / "pipeline.toml"
        file.write_text(
            f'[kafka]\n"bootstrap.servers" = "{bootstrap or self.broker.bootstrap_servers}"\n{kafka}\n'
            f"[land]\n{which}{land}\n{text}"
        )
        return read_settings(file)

    def write(self, name: str, text: str) -> None:
        (self.directory / name).write_text(text)

    def say(self, _sentence: str, **facts: Any) -> None:
        """What is said while a job works, and not the sum at its end."""
        if facts["event"] != "done":
            self.said.append(facts)

    def land(self, settings: Settings | None = None) -> None:
        from barnabas.pipeline.land import land

        land(self.spark, settings or self.settings(), catch_up=True, say=self.say)

    def lake(self, settings: Settings | None = None) -> Any:
        from barnabas.pipeline.lake import Lake

        wanted = settings or self.settings()
        return Lake(self.spark, wanted.place(wanted.lake.path))

    def raw(self, topic: str | None = None) -> list[Row]:
        from barnabas.pipeline.tables import raw

        rows = raw(self.spark, self.lake()).filter(f"topic = '{topic or self.topic}'")
        return sorted(map(_row, rows.selectExpr("*", "unix_millis(timestamp) AS milliseconds").collect()))

    def decoded(self, topic: str | None = None) -> list[dict[str, Any]]:
        from barnabas.pipeline.tables import decoded

        rows = decoded(self.spark, self.lake(), topic or self.topic).collect()
        return [row.asDict() for row in sorted(rows, key=lambda row: (row.kafka.partition, row.kafka.offset))]

    def quarantined(self, topic: str | None = None) -> list[tuple[bytes | None, str]]:
        from barnabas.pipeline.tables import quarantine

        rows = quarantine(self.spark, self.lake()).filter(f"topic = '{topic or self.topic}'").collect()
        rows.sort(key=lambda row: (row.partition, row.offset))
        return [(None if row.value is None else bytes(row.value), row.reason) for row in rows]

    def in_topic(self, topic: str | None = None) -> list[Row]:
        return rows_of(self.broker.records(topic or self.topic))

    def produce(self, values: Iterable[object], **more: Any) -> None:
        for value in values:
            self.broker.produce(self.topic, value, **more)

    def files(self, pattern: str = "raw/**/*.parquet") -> list[Path]:
        return sorted((self.directory / "lake").glob(pattern))


def rows_of(records: Iterable[Record]) -> list[Row]:
    return sorted(Row(one.partition, one.offset, one.timestamp, one.key, one.value, one.headers) for one in records)


def _row(row: Any) -> Row:
    headers = tuple((header.key, _bytes(header.value)) for header in row.headers or ())
    return Row(row.partition, row.offset, row.milliseconds, _bytes(row.key), _bytes(row.value), headers)


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def schema_table(topic: str, file: str, **more: str) -> str:
    """[topics.NAME] of a pipeline.toml."""
    lines: Mapping[str, str] = {"schema": file, **more}
    return f'[topics."{topic}"]\n' + "".join(f'{key.replace("_", "-")} = "{value}"\n' for key, value in lines.items())
