"""Every key has Kafka's name, type, default, importance and mode, and takes and refuses the values that Kafka does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.configuration.barnabas_defaults import ALONE_DEFAULTS, BARNABAS_DEFAULTS
from barnabas.broker.configuration.key import REQUIRED, Key, Mode, as_text
from barnabas.broker.configuration.keys import KEYS
from barnabas.broker.configuration.rules import NO_CLASS, NO_PROVIDERS
from barnabas.broker.configuration.synonyms import synonyms_of
from tests.broker.configuration.comparing import compare
from tests.broker.configuration.configuration_oracle import BASE, SOURCE, ConfigurationOracle
from tests.kafka.java_oracle import JavaOracle

pytestmark = [pytest.mark.java, pytest.mark.slow]


@pytest.fixture(scope="module")
def kafka(java_oracle: Callable[[Path], JavaOracle]) -> ConfigurationOracle:
    return ConfigurationOracle(java_oracle(SOURCE))


def test_every_key_of_a_broker_is_there(kafka: ConfigurationOracle) -> None:
    theirs = {one.pop("name"): one for one in kafka.broker_keys()}
    for one in theirs.values():
        del one["allowed"]
    # Kafka names no mode for what can only be set while it runs, and takes it for the cluster as for a broker.
    assert theirs == {key.name: described(key) for key in KEYS.values() if not key.name.startswith("barnabas.")}


def described(key: Key) -> dict[str, Any]:
    required = key.default is REQUIRED
    return {
        "type": key.type.name,
        "required": required,
        "default": None if required else as_text(key.default),
        "importance": key.importance.value,
        "internal": key.internal,
        "mode": key.mode.value,
        "static": not key.dynamic_only,
        "sensitive": key.sensitive,
    }


def test_kafka_has_no_key_of_ours_and_all_that_need_a_reason_have_one(kafka: ConfigurationOracle) -> None:
    ours = {name for name in KEYS if name.startswith("barnabas.")}
    assert ours.isdisjoint(one["name"] for one in kafka.broker_keys())
    for name, default in {**BARNABAS_DEFAULTS, **ALONE_DEFAULTS}.items():
        assert KEYS[name].default != default.value
        assert default.why


# fmt: off
NUMBERS = [
    "0", "1", "-1", "-2", "+7", " 8 ", "9", "1023", "1024", "007", "", " ", "x", "1_0", "1 0", "0x10", "1.0", "--1",
    "+", "1e3", "\t5\x00", "10s", "10 ms", "1M", "32767", "32768", "2147483647", "2147483648", "-2147483648",
    "9223372036854775807", "9223372036854775808",
]
DECIMALS = [
    "0.25", ".5", "1.", "-0.0", "5e-1", "0.5f", "0x1p-1", "NaN", "nan", "Infinity", "1e999", "1,5", "e1", "1e-4",
    "12345678.9",
]
TEXTS = [
    "", " ", "x", " x ", "a,b", "a , b", "a,,b", "a,a", ",", "x\u00e9", "true", "TRUE ", "False", "yes", "1", "0",
    "none", "required", "Required", "GZIP", "gzip", "producer", "CreateTime", "compact,delete", "delete", "classic",
    "classic,consumer", "consumer", "classic,classic", "classic,share,streams", "disabled", "UPGRADE", "es256",
    "uniform", "range,uniform", "Uniform", "simple", "simple,simple", "SSL", "PLAINTEXT", "plaintext", "data", "*",
]
SPECIAL = {
    "controller.quorum.voters": [
        "1@localhost:9093", "1@[::1]:9093", "1@h:1,2@h:2", "1@h", "h:1", "1@h:x", "1@h:65535", "1@h:65536", "1@h:-1",
        "x@h:1", "1@1@h:1", "1@http://h:1", "1@h:1@", "@h:1", "1@:1", "1@h_a:1", "1@h a:1", "01@h:1", "1@0.0.0.0:1",
        "2@h:1", "1@h:1,1@g:2", " 1@h:1 , 2@h:2 ", "1@h:1,",
    ],
    "controller.quorum.bootstrap.servers": [
        "h:1", "h", "h:1,g:2", "[::1]:1", "PLAINTEXT://h:1", "h:1,", ":1", "h:99999",
    ],
    "max.connections.per.ip.overrides": [
        "h:1", "h:x", "h", "h:1,g:2", " h : 1 , g:2", "::1:5", "h h:1", "h:-1", ",h:1", "h:1,",
    ],
    "process.roles": [
        "broker", "controller", "broker,controller", "controller,broker", "broker,broker", "Broker", "zk",
    ],
    "broker.id": ["1", "2", "-1", "x"],
    "node.id": ["1", "2"],
    "log.dirs": ["a", "a,b", "a,a", "a,,b", ""],
    "cordoned.log.dirs": ["*", "*,data", "data", "other", "data,data", ""],
}
# fmt: on


def values_of(key: Key) -> list[str]:
    bounds = [
        str(int(word) + more)
        for word in key.allowed.replace(",", "").split()
        if _is_number(word)
        for more in (-1, 0, 1)
    ]
    by_type = {"DOUBLE": NUMBERS + DECIMALS, "INT": NUMBERS, "LONG": NUMBERS, "SHORT": NUMBERS}
    return by_type.get(key.type.name, TEXTS) + bounds + SPECIAL.get(key.name, [])


def _is_number(word: str) -> bool:
    return word.lstrip("-").isdigit()


def attempts() -> Iterator[tuple[str, str]]:
    for key in KEYS.values():
        if key.dynamic_only or key.name.startswith("barnabas.") or key.rule in (NO_CLASS, NO_PROVIDERS):
            continue
        for text in dict.fromkeys(values_of(key)):
            # Without voters this node is alone, which Kafka does not know of.
            if key.name != "controller.quorum.voters" or text.strip():
                yield key.name, text


LOADED_BY_KAFKA = {
    # Kafka looks for a class of this name, which Barnabas has no use for; or takes any text, and fails when it starts.
    "authorizer.class.name",
    "replica.selector.class",
    "principal.builder.class",
    "sasl.oauthbearer.jwt.retriever.class",
    "sasl.oauthbearer.jwt.validator.class",
}


def test_every_value_is_taken_or_refused_alike(kafka: ConfigurationOracle) -> None:
    outcomes = [compare(kafka, BASE | {name: text}) for name, text in attempts() if name not in LOADED_BY_KAFKA]
    assert outcomes.count(True) > 2000
    assert outcomes.count(False) > 2000


def test_synonyms_are_those_of_kafka(kafka: ConfigurationOracle) -> None:
    names = [*KEYS, "listener.name.a.ssl.key.password", "listener.name.a.plain.sasl.jaas.config", "listener.name.a.x.y"]
    names += ["listener.name.a", "listener.name..x", "unknown", "listener.name.a.scram-sha-256.sasl.jaas.config"]
    for name in names:
        assert synonyms_of(name) == kafka.synonyms(name), name


def test_modes_are_three() -> None:
    assert {key.mode for key in KEYS.values()} == set(Mode)
