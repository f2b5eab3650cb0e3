"""Which versions of which APIs Python's clients need, beside those that a broker offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from barnabas.cli.doctor.checks import Check, fail, good, unknown, warn
from barnabas.protocol.apis import APIS

__all__ = ["check_needs", "kafka_python_versions"]

Versions = Mapping[int, tuple[int, int]]

_BETWEEN_BROKERS = 27
"""WriteTxnMarkers: kafka-python has its messages, and sends none."""

_NEEDED = frozenset({0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 18})
"""To produce, and to consume in a group; what kafka-python has beyond is for transactions and administration."""


def kafka_python_versions() -> dict[int, tuple[int, int]]:
    """As the library that is installed here has them, by API key."""
    from kafka.protocol import consumer, metadata, producer

    found = {}
    for module in (producer, consumer, metadata):
        for name in dir(module):
            request = getattr(module, name)
            key = getattr(request, "API_KEY", None) if name.endswith("Request") else None
            if key is not None and key != _BETWEEN_BROKERS:
                found[int(key)] = (int(request.valid_versions[0]), int(request.valid_versions[1]))
    return found


def check_needs(where: str, offered: Versions, needed: Versions) -> Iterator[Check]:
    missing: list[str] = []
    apart: list[str] = []
    optional: list[str] = []
    for key, (first, last) in sorted(needed.items()):
        name = APIS[key].name if key in APIS else str(key)
        low, high = offered.get(key, (0, -1))
        if high < 0:
            (missing if key in _NEEDED else optional).append(name)
        elif max(first, low) > min(last, high):
            apart.append(f"{name} {low} to {high}, and the library {first} to {last}")
    if not needed:
        yield unknown("versions", where, "the library's are not known")
    elif missing or apart:
        parts = [*(["does not offer " + ", ".join(missing)] if missing else []), *apart]
        yield fail(
            "versions",
            where,
            "; ".join(parts),
            "clients cannot work with this broker: take a newer one, or another library.",
        )
    elif optional:
        yield warn(
            "versions",
            where,
            f"all that kafka-python asks for but {', '.join(optional)}",
            "producing and consuming work; what uses these does not, such as transactions.",
        )
    else:
        yield good("versions", where, f"all {len(needed)} that kafka-python asks for")
