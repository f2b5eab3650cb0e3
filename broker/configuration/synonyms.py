"""Other names of a key: hours for milliseconds, a listener's own value for everybody's."""

from __future__ import annotations

import re
from collections.abc import Mapping

from barnabas.broker.configuration.key import Key
from barnabas.broker.configuration.keys import KEYS

__all__ = ["base_name", "key_of", "listener_key", "names_a_listener", "overridden", "synonyms_of"]

_OF_A_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.*)")
_OF_A_MECHANISM = (
    "connections.max.reauth.ms",
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
)
"""Behind a listener's name these have the name of a mechanism in front."""

_UNITS = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_FLUSH = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
_BY_NAME = {name: names for names in _UNITS for name in names} | {_FLUSH[0]: _FLUSH}


def names_a_listener(name: str) -> bool:
    return _OF_A_LISTENER.fullmatch(name) is not None


def listener_key(name: str) -> str:
    """What is behind listener.name.NAME., with the name of a mechanism if there is one."""
    found = _OF_A_LISTENER.fullmatch(name)
    return found[1] if found else name


def base_name(name: str) -> str:
    """The key behind listener.name.NAME., without a mechanism in front."""
    if not names_a_listener(name):
        return name
    key = listener_key(name)
    return next((one for one in _OF_A_MECHANISM if key.endswith(one)), key)


def synonyms_of(name: str, *, listeners: bool = True) -> tuple[str, ...]:
    """Every name under which a value may be given, the one that counts first in front."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    if listeners and names_a_listener(name):
        return (name, base_name(name))
    return (name,)


def key_of(name: str) -> Key | None:
    return KEYS.get(name) or KEYS.get(base_name(name))


def overridden(texts: Mapping[str, str], *layers: Mapping[str, str]) -> dict[str, str]:
    """Later layers win, whichever of a key's names they use; what is set for a listener leaves everybody's as it is."""
    result = dict(texts)
    for layer in layers:
        for name in layer:
            for other in synonyms_of(name, listeners=False):
                result.pop(other, None)
        result.update(layer)
    return result
