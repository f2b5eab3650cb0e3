"""Topic configurations have Kafka's names, types and defaults, and what one accepts or refuses the other does too."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from barnabas.protocol.errors import KafkaError
from barnabas.storage.topic_config import TOPIC_CONFIGS, TopicConfig
from tests.kafka.java_oracle import JavaOracle
from tests.storage.state_oracle import SOURCE, StateOracle, as_pairs, as_values

pytestmark = [pytest.mark.java, pytest.mark.slow]


@pytest.fixture(scope="module")
def kafka(java_oracle: Callable[[Path], JavaOracle]) -> StateOracle:
    return StateOracle(java_oracle(SOURCE))


def test_every_topic_configuration_is_there(kafka: StateOracle) -> None:
    theirs = {one.pop("name"): one for one in json.loads(kafka.ask("CONFIGS"))}
    assert theirs == {
        key.name: {
            "type": key.type.name,
            "default": None if key.default is None else as_text(key.default),
            "internal": key.internal,
            "server_names": list(key.server_names),
        }
        for key in TOPIC_CONFIGS.values()
    }


def as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    return "null" if value is None else str(value)


def all_values(config: TopicConfig) -> dict[str, str]:
    return {key.name: as_text(getattr(config, key.field)) for key in TOPIC_CONFIGS.values()}


NUMBERS = [
    "0",
    "1",
    "-1",
    "-2",
    "-3",
    "+7",
    " 8 ",
    "9",
    "10",
    "17",
    "18",
    "22",
    "23",
    "-131072",
    "-131073",
    "1048575",
    "1048576",
]
NUMBERS += ["2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775808"]
NUMBERS += ["", " ", "x", "1_0", "1 0", "0x10", "1.0", "1e3", "--1", "+", "\t5\x00", "007"]
DECIMALS = [
    "0.25",
    ".5",
    "1.",
    "1.0000001",
    "-0.1",
    "-0.0",
    "5e-1",
    "0.5f",
    "0.5D",
    "0x0.8p0",
    "0x1p-1",
    "NaN",
    "nan",
    "inf",
]
DECIMALS += ["Infinity", "-Infinity", "1e999", "1,5", "0.5ff", "1e", ".", "e1", "0x.p1"]
TEXTS = [
    "producer",
    " zstd ",
    "Zstd",
    "none",
    "uncompressed",
    "CreateTime",
    "LogAppendTime",
    "createtime",
    "true",
    " TRUE ",
    "False",
]
TEXTS += [
    "yes",
    "delete",
    "compact",
    "compact,delete",
    "compact , delete",
    "delete,delete",
    "compact,",
    ",",
    "COMPACT",
    "none,delete",
]
TEXTS += [
    "*",
    "0:1",
    "0:1,2:3",
    " 0:1 , 2:3 ",
    "0:1,,2:3",
    "0:1,",
    ",*",
    "*,*",
    "0:1,*",
    "0",
    "0:-1",
    "a:b",
    "0:1:2",
    "\x0b*",
]


def attempts() -> Iterable[tuple[str, str]]:
    for key in TOPIC_CONFIGS.values():
        texts = {"INT": NUMBERS, "LONG": NUMBERS, "DOUBLE": NUMBERS + DECIMALS}.get(key.type.name, [*TEXTS, "", "1"])
        for text in texts:
            yield key.name, text


def compare(
    kafka: StateOracle, overrides: dict[str, str], previous: dict[str, str] | None = None, remote: bool = False
) -> bool:
    said = kafka.said("TOPIC", str(remote).lower(), as_pairs(previous or {}), as_pairs(overrides))
    try:
        ours = all_values(TopicConfig.parse(overrides, previous=previous, remote_storage=remote))
    except KafkaError as error:
        assert said is None, (overrides, error)
        return False
    assert said is not None, overrides
    assert comparable(as_values(said)) == comparable(ours), overrides
    return True


def comparable(values: dict[str, str]) -> dict[str, str]:
    """Java and Python write the same number differently."""
    return values | {"min.cleanable.dirty.ratio": repr(float(values["min.cleanable.dirty.ratio"]))}


def test_every_value_is_accepted_or_refused_alike(kafka: StateOracle) -> None:
    outcomes = [compare(kafka, {name: text}) for name, text in attempts()]
    assert outcomes.count(True) > 200
    assert outcomes.count(False) > 200
    assert not compare(kafka, {"segment.byte": "1"})


def test_random_combinations_are_accepted_or_refused_alike(kafka: StateOracle) -> None:
    chance = random.Random(3)
    choices = {
        "cleanup.policy": ["delete", "compact", "", "compact,delete"],
        "remote.storage.enable": ["true", "true", "true", "false"],
        "remote.log.copy.disable": ["true", "false"],
        "remote.log.delete.on.disable": ["true", "false"],
        "retention.ms": ["-1", "0", "5", "6"],
        "local.retention.ms": ["-2", "-1", "0", "5", "6"],
        "retention.bytes": ["-5", "-1", "0", "5", "6"],
        "local.retention.bytes": ["-2", "-1", "0", "5", "6"],
        "min.compaction.lag.ms": ["0", "5"],
        "max.compaction.lag.ms": ["4", "5", "6"],
    }
    accepted = 0
    for _ in range(1500):
        names = chance.sample(sorted(choices), k=chance.randint(1, 5))
        overrides = {name: chance.choice(choices[name]) for name in names}
        previous = chance.choice([{}, {"remote.storage.enable": "TRUE"}, {"remote.storage.enable": "false"}])
        accepted += compare(kafka, overrides, previous, chance.random() < 0.9)
    assert 300 < accepted < 1200


def test_what_a_server_says_for_all_topics(kafka: StateOracle) -> None:
    chance = random.Random(4)
    settings = {name: key for key in TOPIC_CONFIGS.values() for name in key.server_names}
    samples = {
        "INT": ["1", "9", "2000000", " 7 "],
        "LONG": ["1", "0", "86400000", "-1"],
        "DOUBLE": ["0.25", "1"],
        "BOOLEAN": ["true", "false"],
        "LIST": ["compact", "delete", "compact,delete", ""],
    }
    strings = {"compression.type": ["gzip"], "log.message.timestamp.type": ["LogAppendTime"]}
    trials = [{name: text} for name, key in settings.items() for text in strings.get(name) or samples[key.type.name]]
    trials += [
        {name: text} for name in settings if name.endswith(("hours", "minutes")) for text in ("-3", "2147483648", "x")
    ]
    several = sorted(name for key in TOPIC_CONFIGS.values() if len(key.server_names) > 1 for name in key.server_names)
    trials += [{name: chance.choice(["-1", "0", "1", "5"]) for name in chance.sample(several, 3)} for _ in range(150)]
    differences = []
    for trial in trials:
        said = kafka.said("SERVER", as_pairs(trial))
        try:
            ours = comparable(all_values(TopicConfig.server_defaults(trial)))
        except KafkaError:
            ours = None
        theirs = comparable(as_values(said)) if said is not None else None
        if ours != theirs:
            differences.append((trial, ours is not None, theirs is not None))
    assert differences == []
