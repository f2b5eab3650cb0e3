"""The broker's settings that groups depend on, by Kafka's names, with Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NEW_MEMBER_JOIN_TIMEOUT_MS", "GroupConfig"]

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""How long a new member's first JoinGroup may wait: it has no session yet, and may have died. No setting of Kafka's."""


@dataclass(frozen=True, slots=True)
class GroupConfig:
    min_session_timeout_ms: int = 6_000
    """group.min.session.timeout.ms"""
    max_session_timeout_ms: int = 1_800_000
    """group.max.session.timeout.ms"""
    initial_rebalance_delay_ms: int = 3_000
    """group.initial.rebalance.delay.ms"""
    max_size: int = 2**31 - 1
    """group.max.size"""
    offset_metadata_max_bytes: int = 4_096
    """offset.metadata.max.bytes, which Kafka compares with a number of UTF-16 units"""
    offsets_retention_ms: int = 7 * 24 * 60 * 60 * 1000
    """offsets.retention.minutes"""
    offsets_retention_check_interval_ms: int = 600_000
    """offsets.retention.check.interval.ms"""
