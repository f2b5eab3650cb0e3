"""`@pytest.mark.kafka(...)`: what a test wants of the broker and of its topic.

A test has the markers of its class and module too; what is nearer to it wins, key by key.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["Marker", "Wish", "WrongMarker", "topic_name", "wish_of"]

_KNOWN = {"partitions": int, "config": Mapping, "settings": Mapping, "own_broker": bool}
_LONGEST_READABLE = 80


class Marker(Protocol):
    """What pytest keeps of one."""

    @property
    def args(self) -> tuple[Any, ...]: ...

    @property
    def kwargs(self) -> Mapping[str, Any]: ...


class WrongMarker(Exception):  # noqa: N818 - named for what was met
    """The message is a sentence for whoever wrote it."""


@dataclass(frozen=True, slots=True)
class Wish:
    partitions: int | None = None
    config: Mapping[str, object] = field(default_factory=dict)
    """Of the topic that `kafka_topic` makes; None is the broker's num.partitions."""
    settings: Mapping[str, object] = field(default_factory=dict)
    own_broker: bool = False
    """Also where it has settings: the session's broker keeps those it was started with."""


def wish_of(markers: Iterable[Marker]) -> Wish:
    """Of the markers, nearest first; WrongMarker for what is none of it."""
    partitions, own_broker = None, None
    config: dict[str, object] = {}
    settings: dict[str, object] = {}
    for marker in markers:
        _check(marker)
        given = marker.kwargs
        partitions = given.get("partitions", partitions) if partitions is None else partitions
        own_broker = given.get("own_broker", own_broker) if own_broker is None else own_broker
        config = {**given.get("config", {}), **config}
        settings = {**given.get("settings", {}), **settings}
    return Wish(partitions, config, settings, bool(settings) if own_broker is None else own_broker)


def _check(marker: Marker) -> None:
    if marker.args:
        raise WrongMarker(f"@pytest.mark.kafka takes no {marker.args[0]!r}: name what it is, as in partitions=3.")
    for name, value in marker.kwargs.items():
        if name not in _KNOWN:
            raise WrongMarker(f"@pytest.mark.kafka has no {name}=: it has {', '.join(_KNOWN)}.")
        if not isinstance(value, _KNOWN[name]):
            wanted = "a dict" if _KNOWN[name] is Mapping else f"of type {_KNOWN[name].__name__}"
            raise WrongMarker(f"@pytest.mark.kafka({name}={value!r}) is wrong: it must be {wanted}.")
        if name == "partitions" and isinstance(value, int) and (value is True or value < 1):
            raise WrongMarker(f"@pytest.mark.kafka(partitions={value!r}) is wrong: a topic has 1 partition or more.")


def topic_name(test: str) -> str:
    """One that says whose it is, and that nobody else has: neither another worker of pytest-xdist, nor another run of
    the same tests against the same cluster."""
    readable = re.sub(r"[^A-Za-z0-9_-]+", "-", test)[:_LONGEST_READABLE].strip("-")
    return f"{readable}-{uuid.uuid4().hex[:8]}"
