"""The features of a cluster besides metadata.version: their levels, since when a new cluster has them, and on what
they depend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.coordination.cluster.metadata_version import LATEST_METADATA_VERSION, METADATA_VERSION, MetadataVersion

__all__ = [
    "ELIGIBLE_LEADER_REPLICAS",
    "FEATURES",
    "KRAFT_VERSION",
    "SUPPORTED_FEATURES",
    "Feature",
    "VersionRange",
    "default_features",
]

KRAFT_VERSION = "kraft.version"
ELIGIBLE_LEADER_REPLICAS = "eligible.leader.replicas.version"


class VersionRange(NamedTuple):
    """Of a feature: the lowest and the highest level that a node can work with."""

    low: int
    high: int

    def __contains__(self, level: object) -> bool:
        return isinstance(level, int) and self.low <= level <= self.high


class Feature(NamedTuple):
    """All levels of one feature."""

    name: str
    default_since: tuple[MetadataVersion, ...]
    """For each level the metadata.version that a new cluster has to be of to start with it."""
    dependencies: Mapping[int, Mapping[str, int]]
    """For each level the levels of other features without which it cannot be."""

    @property
    def latest(self) -> int:
        return len(self.default_since) - 1

    def default(self, version: MetadataVersion) -> int:
        return sum(since <= version for since in self.default_since[1:])


_OLDEST = MetadataVersion.V3_3_IV3


def _feature(
    name: str, *since: MetadataVersion, dependencies: Mapping[int, Mapping[str, int]] | None = None
) -> Feature:
    return Feature(name, (_OLDEST, *since), dependencies or {})


FEATURES: Mapping[str, Feature] = {
    feature.name: feature
    for feature in (
        _feature(KRAFT_VERSION, MetadataVersion.V3_9_IV0),
        _feature("transaction.version", MetadataVersion.V4_0_IV2, MetadataVersion.V4_0_IV2),
        _feature("group.version", MetadataVersion.V4_0_IV0),
        _feature(
            ELIGIBLE_LEADER_REPLICAS,
            MetadataVersion.V4_1_IV0,
            dependencies={1: {METADATA_VERSION: MetadataVersion.V4_0_IV1}},
        ),
        _feature("share.version", MetadataVersion.V4_2_IV0),
        _feature("streams.version", MetadataVersion.V4_2_IV1),
    )
}

SUPPORTED_FEATURES: Mapping[str, VersionRange] = {
    METADATA_VERSION: VersionRange(_OLDEST, LATEST_METADATA_VERSION),
    **{feature.name: VersionRange(0, feature.latest) for feature in FEATURES.values()},
}
"""What a node of this version can do, as it registers itself."""


def default_features(version: MetadataVersion = LATEST_METADATA_VERSION) -> dict[str, int]:
    """What a new cluster of this metadata.version starts with; kraft.version is not among it, because it is kept in
    control records and depends on how the quorum is set up."""
    return {feature.name: feature.default(version) for feature in FEATURES.values() if feature.name != KRAFT_VERSION}
