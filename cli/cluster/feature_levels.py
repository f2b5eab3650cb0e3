"""Which levels of which features belong to a release of Kafka, as people write them."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.cli.failures import CommandFailed
from barnabas.coordination.cluster.features import FEATURES
from barnabas.coordination.cluster.metadata_version import LATEST_METADATA_VERSION, METADATA_VERSION, MetadataVersion

__all__ = ["dependencies_of", "levels_of", "metadata_version", "text_of_level"]

_SEGMENTS_OF_A_RELEASE = 2
_LEVELS = frozenset(map(int, MetadataVersion))


def metadata_version(text: str | None) -> MetadataVersion:
    """4.1-IV1, or the last of 4.1 or of 4.1.2; None: the newest that is stable. Others go by their whole names."""
    if text is None:
        return LATEST_METADATA_VERSION
    key = ".".join(text.split(".")[:_SEGMENTS_OF_A_RELEASE])
    found = [
        each for each in MetadataVersion if key == each.text or (each.stable and key == each.text.partition("-")[0])
    ]
    if not found:
        known = ", ".join(each.text for each in MetadataVersion)
        raise CommandFailed(f"Unknown metadata.version '{text}'. Supported metadata.version are: {known}.")
    return found[-1]


def levels_of(version: MetadataVersion) -> dict[str, int]:
    """With which a new cluster of that version starts, metadata.version left out."""
    return {feature.name: feature.default(version) for feature in FEATURES.values()}


def dependencies_of(name: str, level: int) -> Mapping[str, int]:
    if name == METADATA_VERSION:
        if level not in _LEVELS:
            raise CommandFailed(f"Unknown metadata.version {level}.")
        return {}
    feature = FEATURES.get(name)
    if feature is None:
        raise CommandFailed(f"Unknown feature: {name}. There are {', '.join([METADATA_VERSION, *FEATURES])}.")
    if not 0 <= level <= feature.latest:
        raise CommandFailed(f"No feature:{name} with feature level {level}: it goes up to {feature.latest}.")
    return feature.dependencies.get(level, {})


def text_of_level(name: str, level: int) -> str:
    if name != METADATA_VERSION:
        return str(level)
    return MetadataVersion(level).text if level in _LEVELS else f"UNKNOWN {level}"
