"""Quotas: their windows, and the rates that are set while the broker runs."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.configuration.key import CLASS, CLUSTER_WIDE, LONG_MAX, LOW, MEDIUM, READ_ONLY, Key, key
from barnabas.broker.configuration.rules import NO_CLASS
from barnabas.storage.topic_config_types import INT, LONG, at_least

__all__ = ["WITHOUT_EFFECT", "QuotasKeys"]

# fmt: off

@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class QuotasKeys:
    """Each is one attribute of the node's configuration."""

    quota_window_num: int = key(INT, 11, at_least(1), LOW, READ_ONLY,
        "How many windows a client's quota is measured over.")
    quota_window_size_seconds: int = key(INT, 1, at_least(1), LOW, READ_ONLY,
        "The length of one window of a client's quota.")
    replication_quota_window_num: int = key(INT, 11, at_least(1), LOW, READ_ONLY,
        "How many windows the throttled rates of replication are measured over.")
    replication_quota_window_size_seconds: int = key(INT, 1, at_least(1), LOW, READ_ONLY,
        "The length of one window of replication's rates.")
    controller_quota_window_num: int = key(INT, 11, at_least(1), LOW, READ_ONLY,
        "How many windows the quota of topic changes is measured over.")
    controller_quota_window_size_seconds: int = key(INT, 1, at_least(1), LOW, READ_ONLY,
        "The length of one window of the quota of topic changes.")
    alter_log_dirs_replication_quota_window_num: int = key(INT, 11, at_least(1), LOW, READ_ONLY,
        "How many windows a move between directories is measured over.")
    alter_log_dirs_replication_quota_window_size_seconds: int = key(INT, 1, at_least(1), LOW, READ_ONLY,
        "The length of one window of a move between directories.")
    leader_replication_throttled_rate: int = key(LONG, LONG_MAX, at_least(0), MEDIUM, CLUSTER_WIDE,
        "The most bytes each second that leaders send to throttled followers.", dynamic_only=True)
    follower_replication_throttled_rate: int = key(LONG, LONG_MAX, at_least(0), MEDIUM, CLUSTER_WIDE,
        "The most bytes each second that throttled followers fetch.", dynamic_only=True)
    replica_alter_log_dirs_io_max_bytes_per_second: int = key(LONG, LONG_MAX, at_least(0), MEDIUM, CLUSTER_WIDE,
        "The most bytes each second of moves between directories.", dynamic_only=True)


WITHOUT_EFFECT = (
    Key("client.quota.callback.class", CLASS, None, NO_CLASS, LOW, READ_ONLY),
)
