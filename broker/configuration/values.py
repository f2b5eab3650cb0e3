"""The values of all keys, read from their texts: each on its own, all wrong ones together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from barnabas.broker.configuration.barnabas_defaults import ALONE_DEFAULTS, default_of
from barnabas.broker.configuration.keys import KEYS

__all__ = ["HIDDEN", "Check", "ConfigurationError", "Values", "read_values", "wrong"]

LONGEST_SHOWN = 200
HIDDEN = "[hidden]"
QUORUM_KEYS = {"process.roles", "controller.quorum.voters", "controller.quorum.bootstrap.servers"}


class ConfigurationError(Exception):
    """What is wrong, one sentence for each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


def wrong(name: str, value: object, why: str) -> str:
    shown = ",".join(value) if isinstance(value, tuple) else str(value)
    return f"{name}={shown[:LONGEST_SHOWN]} is wrong: it {why}."


class _UnknownValueError(Exception):
    """A check asked for a value that is wrong by itself, and cannot say anything."""


class Values(dict[str, Any]):
    """Parsed values by key. Those that are wrong are missing, and checks that ask for one are left out."""

    def __init__(self, texts: Mapping[str, str], given: Mapping[str, Any]) -> None:
        super().__init__(given)
        self.texts = texts

    def __missing__(self, name: str) -> Any:
        raise _UnknownValueError(name)

    def is_set(self, name: str) -> bool:
        return name in self.texts

    @property
    def alone(self) -> bool:
        """A broker and controller that knows of no other controller is its own quorum."""
        both = set(self["process.roles"]) == {"broker", "controller"}
        return both and not self["controller.quorum.voters"] and not self["controller.quorum.bootstrap.servers"]

    def problems(self, checks: Iterable[Check]) -> Iterator[str]:
        for check in checks:
            try:
                yield from tuple(check(self))
            except _UnknownValueError:
                continue


Check = Callable[[Values], Iterable[str]]
"""It says what does not fit together."""


def read_values(texts: Mapping[str, str]) -> tuple[Values, list[str]]:
    """With the problems of those that are wrong by themselves."""
    problems: list[str] = []
    found: dict[str, Any] = {}
    for key in KEYS.values():
        text = texts.get(key.name)
        if text is None:
            found[key.name] = default_of(key, alone=False)
            continue
        try:
            found[key.name] = key.parse(text)
        except ValueError as error:
            # One of a node's two names is enough to complain of.
            if key.name == "broker.id" and text == texts.get("node.id"):
                continue
            problems.append(wrong(key.name, HIDDEN if key.sensitive else text, str(error)))
    values = Values(texts, found)
    if values.keys() >= QUORUM_KEYS and values.alone:
        values.update({name: default.value for name, default in ALONE_DEFAULTS.items() if not values.is_set(name)})
    return values, problems
