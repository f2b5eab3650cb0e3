"""What a node is: its roles, its number, its directories, and what its controller does."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.configuration.key import (
    CLASS,
    CLUSTER_WIDE,
    HIGH,
    LONG_MAX,
    LOW,
    MEDIUM,
    PER_BROKER,
    READ_ONLY,
    REQUIRED,
    Key,
    key,
)
from barnabas.broker.configuration.rules import DISTINCT, NO_CLASS, NO_PROVIDERS, SERVERS, SOME, VOTERS, some_of
from barnabas.storage.topic_config_types import ANY, BOOLEAN, INT, LIST, LONG, STRING, at_least

__all__ = ["OTHERS", "WITHOUT_EFFECT", "NodeKeys"]

# fmt: off

@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class NodeKeys:
    """Each is one attribute of the node's configuration."""

    node_id: int = key(INT, REQUIRED, at_least(0), HIGH, READ_ONLY,
        "The number of this node, which no other node of the cluster has.")
    broker_rack: str | None = key(STRING, None, ANY, MEDIUM, READ_ONLY,
        "The rack or zone of this node, for the spread of replicas and for consumers that read nearby.")
    cordoned_log_dirs: tuple[str, ...] = key(LIST, (), DISTINCT, MEDIUM, PER_BROKER,
        "Directories that get no new partitions, or * for all.")
    log_dir_failure_timeout_ms: int = key(LONG, 30_000, at_least(1), LOW, READ_ONLY,
        "How long a failed directory may be unknown to the controller before this broker stops.")
    broker_heartbeat_interval_ms: int = key(INT, 2000, ANY, MEDIUM, READ_ONLY,
        "How often a broker tells the controller that it lives.")
    broker_session_timeout_ms: int = key(INT, 9000, ANY, MEDIUM, READ_ONLY,
        "How long a broker may be silent before the controller takes it for dead.")
    initial_broker_registration_timeout_ms: int = key(INT, 60_000, ANY, MEDIUM, READ_ONLY,
        "How long a broker tries to be let in by the controller before it gives up.")
    controlled_shutdown_enable: bool = key(BOOLEAN, True, ANY, MEDIUM, READ_ONLY,
        "Whether a broker that is stopped hands over its partitions first.")
    controller_socket_timeout_ms: int = key(INT, 30_000, ANY, MEDIUM, READ_ONLY,
        "How long a request to the controller may take.")
    controller_quorum_auto_join_enable: bool = key(BOOLEAN, False, ANY, LOW, READ_ONLY,
        "Whether a controller that starts joins the voters by itself.")
    controller_quorum_election_timeout_ms: int = key(INT, 1000, at_least(0), HIGH, READ_ONLY,
        "How long an election may go without a winner before the next one.")
    controller_quorum_election_backoff_max_ms: int = key(INT, 1000, at_least(0), HIGH, READ_ONLY,
        "The longest pause before an election is tried again.")
    controller_quorum_fetch_timeout_ms: int = key(INT, 2000, at_least(0), HIGH, READ_ONLY,
        "How long controllers go on without hearing of each other before they elect a leader.")
    controller_quorum_append_linger_ms: int = key(INT, 25, at_least(0), MEDIUM, READ_ONLY,
        "How long the leading controller gathers records for one write.")
    controller_quorum_request_timeout_ms: int = key(INT, 2000, at_least(0), MEDIUM, READ_ONLY,
        "How long a request between controllers may take.")
    controller_quorum_retry_backoff_ms: int = key(INT, 20, at_least(0), LOW, READ_ONLY,
        "The pause before a failed request between controllers is tried again.")
    controller_quorum_fetch_max_bytes: int = key(INT, 1_048_576, at_least(1), LOW, READ_ONLY,
        "The most bytes of metadata in one answer.")
    controller_quorum_fetch_snapshot_max_bytes: int = key(INT, 1_048_576, at_least(1), LOW, READ_ONLY,
        "The most bytes of a metadata snapshot in one answer.")
    metadata_log_max_record_bytes_between_snapshots: int = key(LONG, 20_971_520, at_least(1), HIGH, READ_ONLY,
        "How many bytes of new metadata make a snapshot due.")
    metadata_log_max_snapshot_interval_ms: int = key(LONG, 3_600_000, at_least(0), HIGH, READ_ONLY,
        "How much time makes a snapshot of the metadata due; 0 is never.")
    metadata_log_segment_bytes: int = key(INT, 1_073_741_824, at_least(8_388_608), HIGH, READ_ONLY,
        "The size at which a segment of the metadata is closed.")
    metadata_log_segment_ms: int = key(LONG, 604_800_000, ANY, HIGH, READ_ONLY,
        "The age at which a segment of the metadata is closed.")
    metadata_max_retention_bytes: int = key(LONG, 104_857_600, ANY, HIGH, READ_ONLY,
        "How many bytes of metadata are kept behind a snapshot.")
    metadata_max_retention_ms: int = key(LONG, 604_800_000, ANY, HIGH, READ_ONLY,
        "How long metadata is kept behind a snapshot.")
    metadata_max_idle_interval_ms: int = key(INT, 500, at_least(0), LOW, READ_ONLY,
        "How often the leading controller writes where nothing changes; 0 is never.")
    internal_metadata_delete_delay_millis: int = key(LONG, 60_000, ANY, LOW, READ_ONLY,
        "How long a removed file of the metadata stays on disk.", internal=True)
    internal_metadata_log_segment_bytes: int | None = key(INT, None, ANY, LOW, READ_ONLY,
        "A segment size of the metadata that may be too small; for tests.", internal=True)
    internal_metadata_max_batch_size_in_bytes: int = key(INT, 8_388_608, ANY, LOW, READ_ONLY,
        "The most bytes of one batch of metadata.", internal=True)
    auto_leader_rebalance_enable: bool = key(BOOLEAN, True, ANY, HIGH, READ_ONLY,
        "Whether the controller gives leadership back to preferred replicas.")
    leader_imbalance_check_interval_seconds: int = key(LONG, 300, at_least(1), HIGH, READ_ONLY,
        "How often the controller looks for leaders that are not the preferred ones.")
    unclean_leader_election_interval_ms: int = key(LONG, 300_000, at_least(1), MEDIUM, READ_ONLY,
        "How often the controller looks for partitions that may elect an unclean leader.", internal=True)
    request_timeout_ms: int = key(INT, 30_000, ANY, HIGH, READ_ONLY,
        "How long a request of this node to another one may take.")
    socket_connection_setup_timeout_ms: int = key(LONG, 10_000, ANY, MEDIUM, READ_ONLY,
        "How long this node waits for a connection to another one.")
    socket_connection_setup_timeout_max_ms: int = key(LONG, 30_000, ANY, MEDIUM, READ_ONLY,
        "The longest wait for a connection, after several that failed.")
    server_max_startup_time_ms: int = key(LONG, LONG_MAX, at_least(0), MEDIUM, READ_ONLY,
        "How long a start may take before it is given up.", internal=True)
    unstable_api_versions_enable: bool = key(BOOLEAN, False, ANY, HIGH, READ_ONLY,
        "Whether versions of APIs that are not final are offered.", internal=True)
    unstable_feature_versions_enable: bool = key(BOOLEAN, False, ANY, HIGH, READ_ONLY,
        "Whether levels of features that are not final are offered.", internal=True)


OTHERS = (
    Key("process.roles", LIST, REQUIRED, some_of("broker", "controller"), HIGH, READ_ONLY,
        "What this node does: broker, controller, or both."),
    Key("broker.id", INT, -1, ANY, HIGH, READ_ONLY,
        "Another name of node.id, from before there were controllers."),
    Key("log.dir", LIST, ("/tmp/kafka-logs",), SOME, HIGH, READ_ONLY,  # noqa: S108
        "The directory of the data, where log.dirs is not set."),
    Key("log.dirs", LIST, None, SOME, HIGH, READ_ONLY,
        "The directories of the data, with commas between."),
    Key("metadata.log.dir", STRING, None, ANY, HIGH, READ_ONLY,
        "The directory of the cluster's metadata; without it the first one of log.dirs."),
    Key("controller.listener.names", LIST, REQUIRED, SOME, HIGH, READ_ONLY,
        "The listeners of controllers; a broker uses the first."),
    Key("controller.quorum.voters", LIST, (), VOTERS, HIGH, READ_ONLY,
        "The controllers as NODE_ID@HOST:PORT, where their number is fixed."),
    Key("controller.quorum.bootstrap.servers", LIST, (), SERVERS, HIGH, READ_ONLY,
        "Some controllers as HOST:PORT, from which the others are learned."),
)
"""They are looked at together, and made into something else."""

WITHOUT_EFFECT = (
    Key("controller.performance.sample.period.ms", LONG, 60_000, at_least(100), MEDIUM, READ_ONLY, internal=True),
    Key("controller.performance.always.log.threshold.ms", LONG, 2000, at_least(0), MEDIUM, READ_ONLY, internal=True),
    Key("create.topic.policy.class.name", CLASS, None, NO_CLASS, LOW, READ_ONLY),
    Key("alter.config.policy.class.name", CLASS, None, NO_CLASS, LOW, READ_ONLY),
    Key("config.providers", LIST, (), NO_PROVIDERS, LOW, CLUSTER_WIDE),
    Key("background.threads", INT, 10, at_least(1), HIGH, CLUSTER_WIDE),
    Key("num.io.threads", INT, 8, at_least(1), HIGH, CLUSTER_WIDE),
)
