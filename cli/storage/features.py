"""The feature levels with which a cluster begins, from --release-version and --feature."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.cli.cluster.feature_levels import levels_of, metadata_version
from barnabas.cli.failures import CommandFailed
from barnabas.coordination.cluster.features import FEATURES, KRAFT_VERSION
from barnabas.coordination.cluster.metadata_version import LATEST_METADATA_VERSION, METADATA_VERSION, MetadataVersion

__all__ = ["first_levels", "parse_feature"]


def parse_feature(text: str) -> tuple[str, int]:
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals or not level.isdigit() or int(level) >= 1 << 15:
        raise CommandFailed(f"--feature {text} is no feature and level, such as group.version=1.")
    return name, int(level)


def first_levels(
    release: str | None, features: Sequence[str], *, dynamic_quorum: bool, unstable: bool
) -> tuple[MetadataVersion, dict[str, int]]:
    """All levels but metadata.version, kraft.version among them."""
    given = dict(map(parse_feature, features))
    version = _version(release, given.pop(METADATA_VERSION, None), unstable=unstable)
    for name, level in given.items():
        feature = FEATURES.get(name)
        if feature is None:
            raise CommandFailed(f"Unsupported feature: {name}. Supported features are: {', '.join(sorted(FEATURES))}.")
        if not 0 <= level <= feature.latest:
            raise CommandFailed(f"{name}={level}: there is no such level; the highest is {feature.latest}.")
    kraft = given.get(KRAFT_VERSION)
    if kraft == 0 and dynamic_quorum:
        raise CommandFailed(
            "kraft.version=0 is for a quorum of controller.quorum.voters, which is not set: leave out that --feature."
        )
    if kraft and not dynamic_quorum:
        raise CommandFailed(
            f"kraft.version={kraft} is for a quorum that can change: take controller.quorum.voters out of the "
            "configuration, and use --standalone, --initial-controllers or --no-initial-controllers."
        )
    levels = levels_of(version) | given | {KRAFT_VERSION: int(dynamic_quorum)}
    _check_dependencies(levels | {METADATA_VERSION: int(version)})
    return version, levels


def _version(release: str | None, level: int | None, *, unstable: bool) -> MetadataVersion:
    if level is not None and release is not None:
        raise CommandFailed("--feature metadata.version says what --release-version says too: leave out one of them.")
    if level is not None:
        if level not in set(map(int, MetadataVersion)):
            raise CommandFailed(f"Unknown metadata.version {level}.")
        version = MetadataVersion(level)
    else:
        version = max(MetadataVersion) if unstable and release is None else metadata_version(release)
    if version > LATEST_METADATA_VERSION and not unstable:
        raise CommandFailed(
            f"metadata.version {version.text} is not yet stable: the newest is {LATEST_METADATA_VERSION.text}."
        )
    return version


def _check_dependencies(levels: dict[str, int]) -> None:
    for name, feature in FEATURES.items():
        for other, least in feature.dependencies.get(levels[name], {}).items():
            if levels.get(other, 0) < least:
                raise CommandFailed(
                    f"{name} could not be set to {levels[name]} because it depends on {other} level {least}."
                )
