"""What a test's broker is told, out of what its test has said: wrong keys are refused, since a test whose setting does
nothing would pass or fail for another reason than it says."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath

from barnabas.broker.configuration.node_config import keys_without_effect

__all__ = ["as_text", "broker_settings"]

IN_MEMORY = "/in-memory"
"""What a broker without a directory says its log.dirs is."""
_FOR_TESTS = {
    "offsets.topic.num.partitions": "1",  # Kafka's 50 take a while to be made, and groups do not tell the difference
    "controlled.shutdown.enable": "false",  # there is nobody to whom a single broker could hand anything over
}
"""Defaults of its own, over which `settings` count."""
_ARGUMENTS = {"listeners": "port", "log.dirs": "data_dir", "log.dir": "data_dir", "num.partitions": "partitions"}


def broker_settings(
    data_dir: str | PathLike[str] | None, partitions: int, settings: Mapping[str, object]
) -> dict[str, str]:
    """All but the listeners; ValueError or TypeError for what cannot be meant."""
    if not isinstance(settings, Mapping) or not all(isinstance(key, str) for key in settings):
        raise TypeError(f'settings={settings!r} is no dict of Kafka\'s keys, as {{"message.max.bytes": 5_000_000}}')
    for key, argument in _ARGUMENTS.items():
        if key in settings:
            raise ValueError(f"{key} is said in another way: Broker({argument}=...)")
    for key, why, instead in keys_without_effect(settings):
        raise ValueError(f"settings: {key} {why}{f': did you mean {instead}?' if instead else ''}")
    durability = settings.get("barnabas.durability", "memory" if data_dir is None else "kafka")
    if (durability == "memory") != (data_dir is None):
        raise ValueError(
            f"barnabas.durability={durability} does not go with Broker(data_dir={data_dir!r}): "
            "without a directory it is memory, with one kafka or fsync"
        )
    return {
        "log.dirs": IN_MEMORY if data_dir is None else fspath(data_dir),
        "num.partitions": str(partitions),
        "barnabas.durability": str(durability),
        **_FOR_TESTS,
        **{key: as_text(value) for key, value in settings.items()},
    }


def as_text(value: object) -> str:
    """As Kafka writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
