"""Groups: offsets, classic groups, consumer groups and streams groups."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.configuration.key import CLUSTER_WIDE, HIGH, INT_MAX, MEDIUM, READ_ONLY, SHORT, Key, key
from barnabas.broker.configuration.rules import CONSUMER_ASSIGNORS, one_of_any_case, some_of
from barnabas.storage.topic_config_types import ANY, INT, LIST, LONG, STRING, at_least, between

__all__ = ["WITHOUT_EFFECT", "GroupsKeys"]

# fmt: off

@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class GroupsKeys:
    """Each is one attribute of the node's configuration."""

    group_coordinator_rebalance_protocols: tuple[str, ...] = key(LIST, ("classic", "consumer", "streams"),
        some_of("consumer", "classic", "share", "streams"), MEDIUM, READ_ONLY,
        "Which kinds of groups there are; classic must be one of them.")
    group_coordinator_append_linger_ms: int = key(INT, -1, at_least(-1), MEDIUM, READ_ONLY,
        "How long a coordinator gathers records for one write; -1 fits itself to the load.")
    offsets_commit_timeout_ms: int = key(INT, 5000, at_least(1), HIGH, READ_ONLY,
        "How long a commit of offsets may wait until it is replicated.")
    offsets_load_buffer_size: int = key(INT, 5_242_880, at_least(1), HIGH, READ_ONLY,
        "How many bytes are read at once when a coordinator loads its groups.")
    offsets_topic_replication_factor: int = key(SHORT, 3, at_least(1), HIGH, READ_ONLY,
        "How many replicas __consumer_offsets gets; where it is not set, no more than there are brokers.")
    offsets_topic_num_partitions: int = key(INT, 50, at_least(1), HIGH, READ_ONLY,
        "How many partitions __consumer_offsets gets.")
    offsets_topic_segment_bytes: int = key(INT, 104_857_600, at_least(1), HIGH, READ_ONLY,
        "The segment size of __consumer_offsets.")
    offsets_topic_compression_codec: int = key(INT, 0, between(0, 4), HIGH, READ_ONLY,
        "The compression of __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.")
    offset_metadata_max_bytes: int = key(INT, 4096, ANY, HIGH, READ_ONLY,
        "The most bytes of the note that may go with a committed offset.")
    offsets_retention_minutes: int = key(INT, 10_080, at_least(1), HIGH, READ_ONLY,
        "How long the offsets of an empty group are kept.")
    offsets_retention_check_interval_ms: int = key(LONG, 600_000, at_least(1), HIGH, READ_ONLY,
        "How often it is looked for offsets that are to be forgotten.")
    group_min_session_timeout_ms: int = key(INT, 6000, ANY, MEDIUM, READ_ONLY,
        "The shortest session that a member of a classic group may ask for.")
    group_max_session_timeout_ms: int = key(INT, 1_800_000, ANY, MEDIUM, READ_ONLY,
        "The longest session that a member of a classic group may ask for.")
    group_initial_rebalance_delay_ms: int = key(INT, 3000, ANY, MEDIUM, READ_ONLY,
        "How long an empty classic group waits for more members before it first assigns partitions.")
    group_max_size: int = key(INT, INT_MAX, at_least(1), MEDIUM, READ_ONLY,
        "The most members of a classic group.")
    group_consumer_session_timeout_ms: int = key(INT, 45_000, at_least(1), MEDIUM, READ_ONLY,
        "How long a member of a consumer group may be silent.")
    group_consumer_min_session_timeout_ms: int = key(INT, 45_000, at_least(1), MEDIUM, READ_ONLY,
        "The least that a group may set for its session timeout.")
    group_consumer_max_session_timeout_ms: int = key(INT, 60_000, at_least(1), MEDIUM, READ_ONLY,
        "The most that a group may set for its session timeout.")
    group_consumer_heartbeat_interval_ms: int = key(INT, 5000, at_least(1), MEDIUM, READ_ONLY,
        "How often a member of a consumer group is heard of.")
    group_consumer_min_heartbeat_interval_ms: int = key(INT, 5000, at_least(1), MEDIUM, READ_ONLY,
        "The least that a group may set for its heartbeats.")
    group_consumer_max_heartbeat_interval_ms: int = key(INT, 15_000, at_least(1), MEDIUM, READ_ONLY,
        "The most that a group may set for its heartbeats.")
    group_consumer_max_size: int = key(INT, INT_MAX, at_least(1), MEDIUM, READ_ONLY,
        "The most members of a consumer group.")
    group_consumer_assignors: tuple[str, ...] = key(LIST, ("uniform", "range"), CONSUMER_ASSIGNORS, MEDIUM, READ_ONLY,
        "The assignors that consumer groups may choose from, the first by default: uniform, range.")
    group_consumer_migration_policy: str = key(STRING, "bidirectional", one_of_any_case("DISABLED", "DOWNGRADE",
        "UPGRADE", "BIDIRECTIONAL"), MEDIUM, READ_ONLY,
        "Whether groups may change between classic and consumer: disabled, upgrade, downgrade, bidirectional.")
    group_consumer_assignment_interval_ms: int = key(INT, 1000, at_least(0), MEDIUM, CLUSTER_WIDE,
        "The shortest time between two assignments of a consumer group.")
    group_consumer_min_assignment_interval_ms: int = key(INT, 0, at_least(0), MEDIUM, READ_ONLY,
        "The least that may be set between two assignments.")
    group_consumer_max_assignment_interval_ms: int = key(INT, 15_000, at_least(0), MEDIUM, READ_ONLY,
        "The most that may be set between two assignments.")
    group_consumer_regex_refresh_interval_ms: int = key(INT, 600_000, at_least(10_000), MEDIUM, READ_ONLY,
        "How often subscriptions by pattern are looked up again.", internal=True)
    group_streams_session_timeout_ms: int = key(INT, 45_000, at_least(1), MEDIUM, READ_ONLY,
        "How long a member of a streams group may be silent.")
    group_streams_min_session_timeout_ms: int = key(INT, 45_000, at_least(1), MEDIUM, READ_ONLY,
        "The least that a streams group may set for its session timeout.")
    group_streams_max_session_timeout_ms: int = key(INT, 60_000, at_least(1), MEDIUM, READ_ONLY,
        "The most that a streams group may set for its session timeout.")
    group_streams_heartbeat_interval_ms: int = key(INT, 5000, at_least(1), MEDIUM, READ_ONLY,
        "How often a member of a streams group is heard of.")
    group_streams_min_heartbeat_interval_ms: int = key(INT, 5000, at_least(1), MEDIUM, READ_ONLY,
        "The least that a streams group may set for its heartbeats.")
    group_streams_max_heartbeat_interval_ms: int = key(INT, 15_000, at_least(1), MEDIUM, READ_ONLY,
        "The most that a streams group may set for its heartbeats.")
    group_streams_max_size: int = key(INT, INT_MAX, at_least(1), MEDIUM, READ_ONLY,
        "The most members of a streams group.")
    group_streams_num_standby_replicas: int = key(INT, 0, at_least(0), MEDIUM, READ_ONLY,
        "How many standby tasks each task of a streams group has.")
    group_streams_max_standby_replicas: int = key(INT, 2, at_least(0), MEDIUM, READ_ONLY,
        "The most standby tasks that a streams group may set.")
    group_streams_initial_rebalance_delay_ms: int = key(INT, 3000, at_least(0), MEDIUM, READ_ONLY,
        "How long an empty streams group waits for more members before it first assigns tasks.")
    group_streams_assignment_interval_ms: int = key(INT, 1000, at_least(0), MEDIUM, CLUSTER_WIDE,
        "The shortest time between two assignments of a streams group.")
    group_streams_min_assignment_interval_ms: int = key(INT, 0, at_least(0), MEDIUM, READ_ONLY,
        "The least that may be set between two assignments of a streams group.")
    group_streams_max_assignment_interval_ms: int = key(INT, 15_000, at_least(0), MEDIUM, READ_ONLY,
        "The most that may be set between two assignments of a streams group.")


WITHOUT_EFFECT = (
    Key("group.coordinator.threads", INT, 4, at_least(1), HIGH, READ_ONLY),
    Key("group.coordinator.background.threads", INT, 2, at_least(1), HIGH, READ_ONLY),
    Key("group.coordinator.cached.buffer.max.bytes", INT, 1_048_588, at_least(524_288), MEDIUM, CLUSTER_WIDE),
)
