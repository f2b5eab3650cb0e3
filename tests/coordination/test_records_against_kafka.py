"""Kafka's own formatters on the records of every scenario, and Java on the orders that Kafka leaves to it."""

from __future__ import annotations

import json
import random
import uuid
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.coordination.groups import GroupRecord, partition_of_group
from barnabas.coordination.java_hash import map_order
from barnabas.protocol.schema import Data, Struct, Uuid
from tests.coordination.transcript import SCENARIOS, Transcript, commands_and_remarks, read_config
from tests.kafka.java_oracle import JavaOracle

pytestmark = pytest.mark.java

SOURCE = Path(__file__).with_name("CoordinatorOracle.java")
Ask = Callable[..., str]


@pytest.fixture(scope="module")
def ask(java_oracle: Callable[[Path], JavaOracle]) -> Ask:
    oracle = java_oracle(SOURCE)

    def asked(*fields: object) -> str:
        word, _, rest = oracle.ask(" ".join(map(str, fields))).partition(" ")
        assert word == "OK", rest
        return rest

    return asked


def as_hex(value: bytes | str | None) -> str:
    if value is None:
        return "null"
    return (value.encode() if isinstance(value, str) else value).hex() or "-"


def records_of(scenario: Path) -> list[GroupRecord]:
    text = scenario.read_text()
    transcript = Transcript(read_config(text))
    for line in commands_and_remarks(text):
        if line.startswith("> "):
            transcript.run(line)
    return [entry[0] for entry in transcript.coordinator.log if isinstance(entry[0], GroupRecord)]


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def as_json(value: object, kafka: Any) -> Any:
    """As Kafka's converters write it; fields that they leave out at this version are left out."""
    if isinstance(value, Struct):
        names = {camel(each.name): each.name for each in value.__fields__}
        return {name: as_json(getattr(value, names[name]), kafka[name]) for name in kafka}
    if isinstance(value, list):
        assert len(value) == len(kafka)
        return [as_json(one, other) for one, other in zip(value, kafka, strict=True)]
    if isinstance(value, Uuid):
        return str(value)
    if isinstance(value, bytes):
        assert b64decode(kafka) == value
        return kafka
    return value


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.stem)
def test_kafka_reads_every_record(scenario: Path, ask: Ask) -> None:
    records = records_of(scenario)
    assert records
    for record in records:
        said = json.loads(ask("FORMAT", as_hex(record.key_bytes()), as_hex(record.value_bytes())))
        assert said["key"] == {"type": record.key.__definition__.key, "data": as_json(record.key, said["key"]["data"])}
        if record.value is None:
            assert said["value"] is None
        else:
            data = as_json(record.value, said["value"]["data"])
            assert said["value"] == {"version": record.version, "data": data}
            assert has_all_but(record.value, data, record.version)


def has_all_but(value: Data, data: dict[str, object], version: int) -> bool:
    """Kafka has read every field that travels in this version, but tagged ones at their default."""
    expected = {
        camel(each.name)
        for each in value.__fields__
        if version in each.versions and (each.tag is None or getattr(value, each.name) != each.default)
    }
    return expected <= set(data)


def test_a_group_is_kept_where_kafka_keeps_it(ask: Ask) -> None:
    chooser = random.Random(1)
    names = [
        "",
        "polygenelubricants",
        "ä",
        "🂡🂡",
        "group",
        *(str(uuid.UUID(int=chooser.getrandbits(128))) for _ in range(100)),
    ]
    for name in names:
        for count in (1, 7, 50):
            assert partition_of_group(name, count) == int(ask("PARTITION", as_hex(name), count))


def test_members_are_in_the_order_of_a_java_map(ask: Ask) -> None:
    chooser = random.Random(2)
    for size in (1, 2, 11, 12, 13, 24, 25, 100, 1000):
        names = [f"consumer-{uuid.UUID(int=chooser.getrandbits(128))}" for _ in range(size)]
        said = [bytes.fromhex(name).decode() for name in ask("ORDER", *map(as_hex, names)).split()]
        assert map_order(names) == said
