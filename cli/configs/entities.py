"""What is configured: topics, brokers, users ..., named by Kafka's options, by its short ones, or by words."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from barnabas.cli.failures import WrongUsage
from barnabas.client.configs import ResourceKind, Source

__all__ = ["DEFAULT_NAME", "KINDS", "RESOURCES", "Entities", "add_entity_arguments", "entities_of", "singular"]

DEFAULT_NAME = ""
"""In place of a name: what holds for all that have none of their own."""

RESOURCES = {
    "topics": (ResourceKind.TOPIC, Source.DYNAMIC_TOPIC_CONFIG),
    "brokers": (ResourceKind.BROKER, Source.DYNAMIC_BROKER_CONFIG),
    "broker-loggers": (ResourceKind.BROKER_LOGGER, None),
    "client-metrics": (ResourceKind.CLIENT_METRICS, Source.DYNAMIC_CLIENT_METRICS_CONFIG),
    "groups": (ResourceKind.GROUP, Source.DYNAMIC_GROUP_CONFIG),
}
"""The kinds that have configurations, with the source of what is set for one of them."""

KINDS = ("topics", "clients", "users", "brokers", "ips", "client-metrics", "groups", "broker-loggers")
_SHORT = ("topic", "client", "user", "broker", "broker-logger", "ip", "client-metrics", "group")
_DEFAULTS = ("client", "user", "broker", "ip")


@dataclass
class Entities:
    """Kinds and names as they were given: there may be more of the one than of the other."""

    kinds: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return self.kinds[0]

    @property
    def has_name(self) -> bool:
        return any(self.names)

    @property
    def has_default(self) -> bool:
        return DEFAULT_NAME in self.names


def singular(kind: str) -> str:
    """As Kafka makes one: of client-metrics it is a client-metric."""
    return kind.removesuffix("s")


class _Name(argparse.Action):
    """Names and defaults in the order in which they are given, for the types in theirs."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        value: str | Sequence[Any] | None,
        _option: str | None = None,
    ) -> None:
        name = value if isinstance(value, str) else DEFAULT_NAME
        namespace.entity_names = [*(namespace.entity_names or []), name]


def add_entity_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is configured")
    for name in _SHORT:
        group.add_argument(f"--{name}", metavar="ID" if name.startswith("broker") else "NAME", dest=f"one_{name}")
    for name in _DEFAULTS:
        text = f"what holds for all {name}s that have no value of their own"
        group.add_argument(f"--{name}-defaults", action="store_true", help=text)
    group.add_argument(
        "--entity-type", metavar="TYPE", action="append", default=[], help=f"the long form: {', '.join(KINDS)}"
    )
    group.add_argument("--entity-name", metavar="NAME", action=_Name, dest="entity_names", help="its name or number")
    group.add_argument("--entity-default", action=_Name, nargs=0, dest="entity_names", help="in place of a name")


def entities_of(arguments: argparse.Namespace, words: Sequence[str]) -> Entities:
    long = Entities(list(arguments.entity_type), list(arguments.entity_names or []))
    short = _of_short_options(arguments)
    worded = _of_words(words)
    given = [each for each in (long, short, worded) if each.kinds or each.names]
    if len(given) > 1:
        raise WrongUsage(
            "--entity-type, --entity-name and --entity-default are one way to say what is configured, "
            "--topic and the like another, words a third: choose one."
        )
    return given[0] if given else long


def _of_short_options(arguments: argparse.Namespace) -> Entities:
    found = Entities()
    for name in _SHORT:
        value = getattr(arguments, f"one_{name}")
        if value is not None:
            found.kinds.append(_plural(name))
            found.names.append(value)
    for name in _DEFAULTS:
        if getattr(arguments, f"{name}_defaults"):
            found.kinds.append(_plural(name))
            found.names.append(DEFAULT_NAME)
    return found


def _of_words(words: Sequence[str]) -> Entities:
    """`topic orders`, `user alice client app`, `brokers`, `broker-defaults`."""
    found = Entities()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.removesuffix("-defaults") in _DEFAULTS and word.endswith("-defaults"):
            found.kinds.append(_plural(word.removesuffix("-defaults")))
            found.names.append(DEFAULT_NAME)
            continue
        found.kinds.append(_plural(word))
        if rest and rest[0] not in KINDS:
            found.names.append(rest.pop(0))
    return found


def _plural(word: str) -> str:
    many = f"{word}s"
    return many if many in KINDS else word
