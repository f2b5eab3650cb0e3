"""Share groups, and the coordinator that remembers how far they are."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.configuration.key import CLUSTER_WIDE, HIGH, LOW, MEDIUM, READ_ONLY, SHORT, Key, key
from barnabas.broker.configuration.rules import SHARE_ASSIGNORS
from barnabas.storage.topic_config_types import ANY, INT, LIST, STRING, at_least, between

__all__ = ["WITHOUT_EFFECT", "SharesKeys"]

# fmt: off

@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class SharesKeys:
    """Each is one attribute of the node's configuration."""

    group_share_session_timeout_ms: int = key(INT, 45_000, at_least(1), MEDIUM, READ_ONLY,
        "How long a member of a share group may be silent.")
    group_share_min_session_timeout_ms: int = key(INT, 45_000, at_least(1), MEDIUM, READ_ONLY,
        "The least that a share group may set for its session timeout.")
    group_share_max_session_timeout_ms: int = key(INT, 60_000, at_least(1), MEDIUM, READ_ONLY,
        "The most that a share group may set for its session timeout.")
    group_share_heartbeat_interval_ms: int = key(INT, 5000, at_least(1), MEDIUM, READ_ONLY,
        "How often a member of a share group is heard of.")
    group_share_min_heartbeat_interval_ms: int = key(INT, 5000, at_least(1), MEDIUM, READ_ONLY,
        "The least that a share group may set for its heartbeats.")
    group_share_max_heartbeat_interval_ms: int = key(INT, 15_000, at_least(1), MEDIUM, READ_ONLY,
        "The most that a share group may set for its heartbeats.")
    group_share_max_size: int = key(INT, 200, between(1, 1000), MEDIUM, READ_ONLY,
        "The most members of a share group.")
    group_share_assignors: tuple[str, ...] = key(LIST, ("simple",), SHARE_ASSIGNORS, MEDIUM, READ_ONLY,
        "The one assignor of share groups: simple.")
    group_share_assignment_interval_ms: int = key(INT, 1000, at_least(0), MEDIUM, CLUSTER_WIDE,
        "The shortest time between two assignments of a share group.")
    group_share_min_assignment_interval_ms: int = key(INT, 0, at_least(0), MEDIUM, READ_ONLY,
        "The least that may be set between two assignments of a share group.")
    group_share_max_assignment_interval_ms: int = key(INT, 15_000, at_least(0), MEDIUM, READ_ONLY,
        "The most that may be set between two assignments of a share group.")
    group_share_initialize_retry_interval_ms: int = key(INT, 30_000, at_least(1), LOW, READ_ONLY,
        "The pause before the start of a share partition is tried again.", internal=True)
    group_share_delivery_count_limit: int = key(INT, 5, between(2, 10), MEDIUM, READ_ONLY,
        "How often a record is delivered before it is given up.")
    group_share_min_delivery_count_limit: int = key(INT, 2, between(2, 5), MEDIUM, READ_ONLY,
        "The least that a share group may set for its deliveries.")
    group_share_max_delivery_count_limit: int = key(INT, 10, between(5, 25), MEDIUM, READ_ONLY,
        "The most that a share group may set for its deliveries.")
    group_share_partition_max_record_locks: int = key(INT, 2000, between(100, 10_000), MEDIUM, READ_ONLY,
        "How many records of a partition may be out with members at the same time.")
    group_share_min_partition_max_record_locks: int = key(INT, 100, between(100, 2000), MEDIUM, READ_ONLY,
        "The least that a share group may set for its record locks.")
    group_share_max_partition_max_record_locks: int = key(INT, 4000, between(2000, 10_000), MEDIUM, READ_ONLY,
        "The most that a share group may set for its record locks.")
    group_share_record_lock_duration_ms: int = key(INT, 30_000, between(1000, 3_600_000), MEDIUM, READ_ONLY,
        "How long a member may hold a record before another one gets it.")
    group_share_min_record_lock_duration_ms: int = key(INT, 15_000, between(1000, 30_000), MEDIUM, READ_ONLY,
        "The least that a share group may set for its locks.")
    group_share_max_record_lock_duration_ms: int = key(INT, 60_000, between(30_000, 3_600_000), MEDIUM, READ_ONLY,
        "The most that a share group may set for its locks.")
    group_share_max_share_sessions: int = key(INT, 2000, at_least(1), MEDIUM, READ_ONLY,
        "The most share sessions that are remembered.")
    share_coordinator_append_linger_ms: int = key(INT, -1, at_least(-1), MEDIUM, READ_ONLY,
        "How long a share coordinator gathers records for one write; -1 fits itself to the load.")
    share_coordinator_write_timeout_ms: int = key(INT, 5000, at_least(1), HIGH, READ_ONLY,
        "How long a write of a share coordinator may wait until it is replicated.")
    share_coordinator_load_buffer_size: int = key(INT, 5_242_880, at_least(1), HIGH, READ_ONLY,
        "How many bytes are read at once when a share coordinator loads its state.")
    share_coordinator_snapshot_update_records_per_snapshot: int = key(INT, 500, between(0, 500), MEDIUM, READ_ONLY,
        "How many updates of a share partition come before its next snapshot.")
    share_coordinator_cold_partition_snapshot_interval_ms: int = key(INT, 300_000, at_least(1), LOW, READ_ONLY,
        "How often share partitions are written anew that do not change.", internal=True)
    share_coordinator_state_topic_prune_interval_ms: int = key(INT, 300_000, at_least(1), LOW, READ_ONLY,
        "How often old records of __share_group_state are deleted.", internal=True)
    share_coordinator_state_topic_replication_factor: int = key(SHORT, 3, at_least(1), HIGH, READ_ONLY,
        "How many replicas __share_group_state gets; where it is not set, no more than there are brokers.")
    share_coordinator_state_topic_min_isr: int = key(SHORT, 2, at_least(1), HIGH, READ_ONLY,
        "min.insync.replicas of __share_group_state; where it is not set, no more than there are brokers.")
    share_coordinator_state_topic_num_partitions: int = key(INT, 50, at_least(1), HIGH, READ_ONLY,
        "How many partitions __share_group_state gets.")
    share_coordinator_state_topic_segment_bytes: int = key(INT, 104_857_600, at_least(1), HIGH, READ_ONLY,
        "The segment size of __share_group_state.")
    share_coordinator_state_topic_compression_codec: int = key(INT, 0, between(0, 4), HIGH, READ_ONLY,
        "The compression of __share_group_state: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.")


WITHOUT_EFFECT = (
    Key("share.coordinator.threads", INT, 1, at_least(1), MEDIUM, READ_ONLY),
    Key("share.coordinator.cached.buffer.max.bytes", INT, 1_048_588, at_least(524_288), MEDIUM, CLUSTER_WIDE),
    Key("share.fetch.purgatory.purge.interval.requests", INT, 1000, ANY, MEDIUM, READ_ONLY),
    Key("group.share.persister.class.name",
        STRING, "org.apache.kafka.server.share.persister.DefaultStatePersister", ANY, MEDIUM, READ_ONLY, internal=True),
)
