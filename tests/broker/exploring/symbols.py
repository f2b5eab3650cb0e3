"""Values that each broker draws for itself: a plan of requests names them by where they were first seen.

A plan is made once and may be run again, with steps left out and under other names of topics and groups. So it holds
no broker's own values: a topic's id, a member's, a session's number, a producer's are symbols in it, which stand for
one value at each side.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from barnabas.protocol.schema import Uuid

__all__ = ["FIRST_PRODUCER", "FIRST_SESSION", "OWN", "SIDES", "Symbols", "Unknown"]

SIDES = KAFKA, OURS = range(2)

OWN = "@"
"""A name that starts so is one of this run alone, of which other runs know nothing."""
MEMBER = "#member "
FIRST_SESSION = 2_000_000_000
FIRST_PRODUCER = 7_000_000_000_000
_UUID_START = b"a symbol"
_WITH_UUID = re.compile(r"(.*)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.DOTALL)

NEVER_SEEN = {"member": "nobody", "uuid": Uuid(b"of nobody's topic"[:16]), "session": 12345, "producer": 999_999}
"""What is sent for a symbol whose step was left out."""


@dataclass(frozen=True)
class Unknown:
    """A value in an answer that is one side's own, and that no symbol stands for yet."""

    kind: str
    value: Any
    told: str = ""
    """What of it both sides have to agree on."""

    def __repr__(self) -> str:
        return f"<a new {self.kind} {self.told}>"


@dataclass
class Symbols:
    prefix: str
    values: dict[Any, tuple[Any, Any]] = field(default_factory=dict)
    names: tuple[dict[Any, Any], dict[Any, Any]] = field(default_factory=lambda: ({}, {}))
    """What each side's values are called."""

    def bind(self, step: int, kafka: Unknown, ours: Unknown) -> Any:
        """A symbol for what stands at the same place of both answers."""
        number = step * 100 + sum(1 for each in self.values if self._step(each) == step)
        symbol: Any
        match kafka.kind:
            case "member":
                symbol = f"{MEMBER}{number}"
            case "uuid":
                symbol = Uuid(_UUID_START + number.to_bytes(8, "big"))
            case "session":
                symbol = FIRST_SESSION + number
            case _:
                symbol = FIRST_PRODUCER + number
        self.values[symbol] = kafka.value, ours.value
        self.names[KAFKA][kafka.kind, kafka.value] = symbol
        self.names[OURS][ours.kind, ours.value] = symbol
        return symbol

    def of_kind(self, kind: str) -> list[Any]:
        return [symbol for symbol in self.values if _kind(symbol) == kind]

    def sent(self, value: Any, side: int) -> Any:
        """A value of the plan, as this side knows it."""
        if isinstance(value, str) and value.startswith(OWN):
            return self.prefix + value[1:]
        kind = _kind(value)
        if kind is None:
            return value
        known = self.values.get(value)
        return NEVER_SEEN[kind] if known is None else known[side]

    def named(self, kind: str, value: Any, side: int, told: str = "") -> Any:
        """A value of an answer, as the plan calls it."""
        return self.names[side].get((kind, value)) or Unknown(kind, value, told)

    def told(self, text: str, side: int) -> Any:
        """Text of an answer: a member's id, or words that may hold any id."""
        if not text:
            return text
        member = _WITH_UUID.fullmatch(text)
        if member is not None and " " not in text:
            return self.named("member", text, side, member[1])
        for (_, value), symbol in self.names[side].items():
            if not isinstance(value, int):
                text = text.replace(str(value), str(symbol))
        return text.replace(self.prefix, OWN)

    @staticmethod
    def _step(symbol: Any) -> int:
        kind = _kind(symbol)
        if kind == "member":
            return int(symbol.removeprefix(MEMBER)) // 100
        if kind == "uuid":
            return int.from_bytes(symbol[8:], "big") // 100
        return (int(symbol) - (FIRST_SESSION if kind == "session" else FIRST_PRODUCER)) // 100


def _kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "member" if value.startswith(MEMBER) else None
    if isinstance(value, Uuid):
        return "uuid" if value.startswith(_UUID_START) else None
    if type(value) is int:
        if FIRST_SESSION <= value < FIRST_SESSION + 10_000_000:
            return "session"
        if FIRST_PRODUCER <= value < FIRST_PRODUCER + 10_000_000:
            return "producer"
    return None
