"""The few values that are fitted into their bounds when they are set while the broker runs, rather than refused."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.broker.configuration.keys import KEYS

__all__ = ["clamped"]

_FITTED = tuple(f"group.{kind}.{{}}assignment.interval.ms" for kind in ("consumer", "share", "streams"))


def clamped(texts: Mapping[str, str]) -> dict[str, str]:
    """What cannot be read is left as it is, for others to refuse."""
    result = dict(texts)
    for pattern in _FITTED:
        names = pattern.format(""), pattern.format("min."), pattern.format("max.")
        if names[0] not in texts:
            continue
        try:
            value, least, most = (
                KEYS[name].parse(texts[name]) if name in texts else KEYS[name].default for name in names
            )
        except ValueError:
            continue
        if not least <= value <= most:
            result[names[0]] = str(least if value < least else most)
    return result
