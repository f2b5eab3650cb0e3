"""What a configuration may be: how Kafka reads each type, and the limits it sets to values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from barnabas.protocol.java_text import BLANK, parse_floating, parse_integer, trim

__all__ = [
    "ANY",
    "BOOLEAN",
    "DOUBLE",
    "GZIP_LEVEL",
    "INT",
    "LIST",
    "LONG",
    "STRING",
    "THROTTLED_REPLICAS",
    "Rule",
    "Type",
    "at_least",
    "between",
    "list_of",
    "one_of",
]

_COMMA = re.compile(f"{BLANK}*,{BLANK}*")
_REPLICA = re.compile(r"([0-9]+:[0-9]+)?")


class Type(NamedTuple):
    """`parse` raises ValueError. Kafka trims every value first."""

    name: str
    allowed: str
    parse: Callable[[str], object]


class Rule(NamedTuple):
    allowed: str
    permits: Callable[[Any], bool]
    normalise: Callable[[Any], Any] = lambda value: value


def _parse_boolean(text: str) -> bool:
    lowered = trim(text).lower()
    if lowered not in ("true", "false"):
        raise ValueError(text)
    return lowered == "true"


def _parse_list(text: str) -> tuple[str, ...]:
    return tuple(_COMMA.split(trim(text))) if trim(text) else ()


BOOLEAN = Type("BOOLEAN", "true or false", _parse_boolean)
STRING = Type("STRING", "a string", trim)
INT = Type("INT", "an integer of 32 bits", lambda text: parse_integer(trim(text), 32))
LONG = Type("LONG", "an integer of 64 bits", lambda text: parse_integer(trim(text), 64))
DOUBLE = Type("DOUBLE", "a number", lambda text: parse_floating(trim(text)))
LIST = Type("LIST", "a list with commas between", _parse_list)

ANY = Rule("anything", lambda _: True)


def at_least(low: int) -> Rule:
    return Rule(f"at least {low}", lambda value: value >= low)


def between(low: int, high: int) -> Rule:
    # NaN is neither too low nor too high, and Kafka accepts it.
    return Rule(f"from {low} to {high}", lambda value: not value < low and not value > high)


def one_of(*choices: str) -> Rule:
    return Rule(f"one of {', '.join(choices)}", lambda value: value in choices)


def list_of(*choices: str) -> Rule:
    """Kafka drops repeated values, and allows none at all."""
    return Rule(
        f"a list of {', '.join(choices)}",
        lambda values: all(value in choices for value in values),
        lambda values: tuple(dict.fromkeys(values)),
    )


def _are_replicas(values: tuple[str, ...]) -> bool:
    trimmed = [trim(value) for value in values]
    return all(map(_REPLICA.fullmatch, trimmed)) or "".join(trimmed) == "*"


GZIP_LEVEL = Rule("from 1 to 9, or -1", lambda level: 1 <= level <= 9 or level == -1)
THROTTLED_REPLICAS = Rule("* or a list of PARTITION:BROKER", _are_replicas)
