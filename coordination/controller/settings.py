"""What the configuration of a node says that its controller needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.coordination.cluster.features import SUPPORTED_FEATURES, VersionRange

__all__ = ["ControllerSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Defaults are Kafka's."""

    cluster_id: str
    node_id: int
    voter_ids: tuple[int, ...]
    """The controllers of the quorum."""
    kraft_version: int = 1
    default_partitions: int = 1
    """num.partitions"""
    default_replication_factor: int = 1
    min_insync_replicas: int = 1
    """Of this node's own configuration; a new cluster takes it over."""
    delete_topic_enable: bool = True
    session_timeout_ms: int = 9_000
    """broker.session.timeout.ms"""
    supported_features: Mapping[str, VersionRange] = field(default_factory=lambda: SUPPORTED_FEATURES)
