"""The limits that Kafka sets to values of a broker, beside those that storage/topic_config_types.py has for topics."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.broker.configuration.addresses import is_host, parse_bootstrap_server, parse_voter
from barnabas.storage.topic_config_types import Rule

__all__ = [
    "CONSUMER_ASSIGNORS",
    "DISTINCT",
    "NOT_EMPTY",
    "NO_CLASS",
    "NO_PROVIDERS",
    "PLACE",
    "SERVERS",
    "SHARE_ASSIGNORS",
    "SOME",
    "VOTERS",
    "fraction",
    "one_of_any_case",
    "only",
    "some_of",
]


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _all_there(values: tuple[str, ...]) -> bool:
    return all(values)


DISTINCT = Rule("a list with commas between, none of it empty", _all_there, _distinct)
"""Kafka drops repeated values, and allows none at all."""

SOME = Rule("a list with commas between, none of it empty", lambda values: bool(values) and all(values), _distinct)

NOT_EMPTY = Rule("not empty", bool)


def _is_place(text: str) -> bool:
    host, colon, port = text.rpartition(":")
    if not text:
        return True
    return bool(colon) and is_host(host.removeprefix("[").removesuffix("]")) and port.isascii() and port.isdigit()


PLACE = Rule("HOST:PORT, or nothing", _is_place)


def one_of_any_case(*choices: str) -> Rule:
    return Rule(f"one of {', '.join(choice.lower() for choice in choices)}", lambda value: value.upper() in choices)


def some_of(*choices: str) -> Rule:
    return Rule(
        f"a list of {', '.join(choices)}",
        lambda values: bool(values) and all(value in choices for value in values),
        _distinct,
    )


def fraction(low: float, high: float) -> Rule:
    return Rule(f"from {low} to {high}", lambda value: not value < low and not value > high)


def only(*classes: str) -> Rule:
    """Kafka would load any class of Java; here nothing but what Barnabas does itself can be meant."""
    named = " or ".join(name or "empty" for name in classes)
    return Rule(f"{named}, since Barnabas runs no class of Java", lambda value: value in classes)


NO_CLASS = Rule("left out, since Barnabas runs no class of Java", lambda _: False)
"""Policies and callbacks decide who may do what: a start that ignored one would allow what was forbidden."""

NO_PROVIDERS = Rule(
    "left out: write the values themselves, since Barnabas runs no class of Java", lambda them: not them
)

_CONSUMER_ASSIGNORS = {
    "uniform": "uniform",
    "range": "range",
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
CONSUMER_ASSIGNORS = Rule(
    "a list of uniform, range",
    lambda values: bool(values) and all(value in _CONSUMER_ASSIGNORS for value in values),
    _distinct,
)
SHARE_ASSIGNORS = Rule("simple", lambda values: values == ("simple",), _distinct)


def _parses(parse: Callable[[str], object]) -> Callable[[tuple[str, ...]], bool]:
    def permits(values: tuple[str, ...]) -> bool:
        try:
            for value in values:
                parse(value)
        except ValueError:
            return False
        return True

    return permits


VOTERS = Rule("a list of NODE_ID@HOST:PORT", _parses(parse_voter))
SERVERS = Rule("a list of HOST:PORT", _parses(parse_bootstrap_server))
