"""Kafka's small files and topic configurations, through StateOracle.java."""

from __future__ import annotations

from pathlib import Path

from tests.kafka.java_oracle import JavaOracle

SOURCE = Path(__file__).with_name("StateOracle.java")


class Refused(Exception):  # noqa: N818
    """Kafka's reason, which is its own affair."""


class StateOracle:
    """StateOracle.java, line by line."""

    def __init__(self, java: JavaOracle) -> None:
        self._java = java

    def ask(self, *fields: object) -> str:
        answer, _, rest = self._java.ask(" ".join(map(str, fields))).partition(" ")
        if answer != "OK":
            raise Refused(rest)
        return rest

    def written(self, *fields: object) -> bytes:
        return bytes.fromhex(self.ask(*fields).removeprefix("-"))

    def said(self, *fields: object) -> str | None:
        """None where Kafka refuses, as the functions below do where we refuse."""
        try:
            return self.ask(*fields)
        except Refused:
            return None


def as_hex(value: str | bytes) -> str:
    return (value.encode("utf-8", "replace") if isinstance(value, str) else value).hex() or "-"


def as_pairs(values: dict[str, str]) -> str:
    return ",".join(f"{as_hex(name)}={as_hex(values[name])}" for name in sorted(values)) or "-"


def as_values(pairs: str) -> dict[str, str]:
    found = {}
    for pair in pairs.split(",") if pairs else []:
        name, _, value = pair.partition("=")
        text = "null" if value == "null" else bytes.fromhex(value.removeprefix("-")).decode()
        found[bytes.fromhex(name.removeprefix("-")).decode()] = text
    return found
