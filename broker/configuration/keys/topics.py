"""Topics: how they come into being, and the replication of their partitions."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.configuration.key import CLUSTER_WIDE, HIGH, MEDIUM, READ_ONLY, Key, key
from barnabas.broker.configuration.rules import only
from barnabas.storage.topic_config_types import ANY, BOOLEAN, INT, LONG, STRING, at_least

__all__ = ["WITHOUT_EFFECT", "TopicsKeys"]

# fmt: off

@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class TopicsKeys:
    """Each is one attribute of the node's configuration."""

    auto_create_topics_enable: bool = key(BOOLEAN, True, ANY, HIGH, READ_ONLY,
        "Whether a topic that a client asks for comes into being.")
    delete_topic_enable: bool = key(BOOLEAN, True, ANY, HIGH, READ_ONLY,
        "Whether topics may be deleted.")
    num_partitions: int = key(INT, 1, at_least(1), MEDIUM, READ_ONLY,
        "How many partitions a topic has that is created without a number.")
    default_replication_factor: int = key(INT, 1, ANY, MEDIUM, READ_ONLY,
        "How many replicas a topic has that is created without a number.")
    replica_lag_time_max_ms: int = key(LONG, 30_000, ANY, HIGH, READ_ONLY,
        "How long a follower may lag behind before it leaves the in-sync replicas.")
    replica_socket_timeout_ms: int = key(INT, 30_000, ANY, HIGH, READ_ONLY,
        "How long a follower's fetch may take.")
    replica_socket_receive_buffer_bytes: int = key(INT, 65_536, ANY, HIGH, READ_ONLY,
        "The receive buffer of a follower's connection.")
    num_replica_fetchers: int = key(INT, 1, at_least(1), HIGH, CLUSTER_WIDE,
        "How many connections a follower fetches over from each broker that leads.")
    replica_fetch_max_bytes: int = key(INT, 1_048_576, at_least(0), MEDIUM, READ_ONLY,
        "The most bytes of one partition in an answer to a follower.")
    replica_fetch_wait_max_ms: int = key(INT, 500, ANY, HIGH, READ_ONLY,
        "How long a leader may hold back a follower's fetch until there is data.")
    replica_fetch_min_bytes: int = key(INT, 1, ANY, HIGH, READ_ONLY,
        "How many bytes a follower waits for.")
    replica_fetch_response_max_bytes: int = key(INT, 10_485_760, at_least(0), MEDIUM, READ_ONLY,
        "The most bytes of one answer to a follower.")
    replica_fetch_backoff_ms: int = key(INT, 1000, at_least(0), MEDIUM, READ_ONLY,
        "The pause of a follower after an error.")
    replica_high_watermark_checkpoint_interval_ms: int = key(LONG, 5000, ANY, HIGH, READ_ONLY,
        "How often high watermarks are written down.")
    replica_selector_class: str | None = key(STRING, None,
        only("org.apache.kafka.common.replica.RackAwareReplicaSelector"), MEDIUM, READ_ONLY,
        "Which replica a consumer is sent to: without it the leader, "
        "with Kafka's RackAwareReplicaSelector the nearest.")


WITHOUT_EFFECT = (
    Key("fetch.purgatory.purge.interval.requests", INT, 1000, ANY, MEDIUM, READ_ONLY),
    Key("producer.purgatory.purge.interval.requests", INT, 1000, ANY, MEDIUM, READ_ONLY),
    Key("delete.records.purgatory.purge.interval.requests", INT, 1, ANY, MEDIUM, READ_ONLY),
    Key("follower.fetch.last.tiered.offset.enable", BOOLEAN, False, ANY, MEDIUM, CLUSTER_WIDE),
)
