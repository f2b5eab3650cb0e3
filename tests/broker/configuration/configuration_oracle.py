"""Kafka's own KafkaConfig, through ConfigurationOracle.java."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.kafka.java_oracle import JavaOracle, OracleError

__all__ = ["BASE", "SOURCE", "ConfigurationOracle"]

SOURCE = Path(__file__).with_name("ConfigurationOracle.java")

BASE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "log.dirs": "data",
}
"""A node that Kafka accepts, and nothing that it does not demand."""


class ConfigurationOracle:
    def __init__(self, java: JavaOracle) -> None:
        self._java = java

    def broker_keys(self) -> list[dict[str, Any]]:
        """Every key of a broker: name, type, default, allowed, importance, internal, mode, static, sensitive."""
        keys: list[dict[str, Any]] = json.loads(self._answer("KEYS"))
        return keys

    def parse(self, given: Mapping[str, str]) -> dict[str, Any] | str:
        """Values and addresses, or why Kafka refuses."""
        return self._values(f"PARSE {_pairs(given)}")

    def with_dynamic(
        self, given: Mapping[str, str], cluster: Mapping[str, str], broker: Mapping[str, str]
    ) -> dict[str, Any] | str:
        return self._values(f"WITH {_pairs(given)} {_pairs(cluster)} {_pairs(broker)}")

    def synonyms(self, name: str) -> tuple[str, ...]:
        return tuple(self._answer(f"SYNONYMS {_text(name)}").split())

    def _values(self, line: str) -> dict[str, Any] | str:
        word, _, rest = self._java.ask(line).partition(" ")
        return rest if word == "ERR" else json.loads(rest)

    def _answer(self, line: str) -> str:
        word, _, rest = self._java.ask(line).partition(" ")
        if word != "OK":
            raise OracleError(f"{line[:100]}: {rest}")
        return rest


def _text(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").hex() or "-"


def _pairs(pairs: Mapping[str, str]) -> str:
    return ",".join(f"{_text(name)}={_text(text)}" for name, text in pairs.items()) or "-"
