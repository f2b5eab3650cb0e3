"""The values that requests are made of: few, so that they hit things, and each name of a field has its own.

Good ones are what a client says, odd ones what only a broken or a malicious one does.
"""

from __future__ import annotations

from typing import Any

from barnabas.protocol.schema import Uuid

__all__ = ["CONFIGS", "FIELDS", "INTERNAL", "NAMES", "ODD_NAMES", "RESOURCES"]

NAMES = ["@orders", "@payments", "@trail", "@orders", "@payments"]
INTERNAL = ["__consumer_offsets", "__cluster_metadata", "__transaction_state", "__share_group_state"]
ODD_NAMES = [
    "@nowhere",
    "@nowhere",
    "",
    ".",
    "..",
    "no good name!",
    "@pay.ments",
    "@pay_ments",
    "n" * 249,
    "n" * 250,
    "\N{GREEK SMALL LETTER PI}",
    *INTERNAL,
]
GROUPS = ["@readers", "@readers", "@readers", "@writers"]
ODD_GROUPS = ["", "@nobody", "\N{GREEK SMALL LETTER PI}", " "]

TIMES = [-1, -2, -3, -4, -5, 0, 1_600_000_000_000, 1_600_000_000_002, 1_600_000_000_005]
LARGEST, LARGEST_INT, LARGEST_SHORT = 2**63 - 1, 2**31 - 1, 2**15 - 1

FIELDS: dict[str, tuple[list[Any], list[Any]]] = {
    "acks": ([-1, 1, 1, 0], [2, -2]),
    "timeout_ms": ([1000, 30_000], [0, -1, LARGEST_INT]),
    "index": ([0, 0, 0, 1], [-1, 2, 3, LARGEST_INT, -(2**31)]),
    "fetch_offset": ([0, 0, 1, 2, 3, 5], [-1, -2, 100, LARGEST]),
    "offset": ([0, 1, 2, 3, -1], [-2, 100, LARGEST]),
    "committed_offset": ([0, 1, 5, 100], [-1, -2, LARGEST]),
    "current_leader_epoch": ([-1, -1, -1, 0], [1, 5, -2]),
    "leader_epoch": ([0], [1, -1, -2, 7]),
    "committed_leader_epoch": ([-1, 0], [7, -2]),
    "last_fetched_epoch": ([-1, -1, 0], [1, -2]),
    "log_start_offset": ([-1], [0, 5]),
    "high_watermark": ([LARGEST], [0, 1]),
    "partition_max_bytes": ([1 << 20, 100], [0, 1, -1]),
    "max_bytes": ([50 << 20], [0, 1, 200, -1]),
    "min_bytes": ([0, 1], [-1]),
    "max_wait_ms": ([0], [5, -1]),
    "isolation_level": ([0, 1], [0, 1, 0, 1, 2, -1]),
    "session_epoch": ([-1, 0, 1, 2, 3], [-2, 17]),
    "replica_id": ([-1], [-2, 5, 1]),
    "replica_epoch": ([-1], [0, 5]),
    "timestamp": (TIMES, [-6, -7, LARGEST, 4_000_000_000_000]),
    "session_timeout_ms": ([60_000, 300_000], [5, -1, LARGEST_INT]),
    "rebalance_timeout_ms": ([200_000], [300_000]),
    "protocol_type": (["consumer"], ["connect", ""]),
    "protocol_name": (["range"], ["sticky", ""]),
    "retention_time_ms": ([-1], [0, 86_400_000]),
    "committed_metadata": (["", "note"], ["m" * 4096, "m" * 4097]),
    "key_type": ([0], [2, 3, -1]),
    "reason": (["why"], ["", "r" * 300]),
    "client_software_name": (["raw"], ["", "bad name!"]),
    "client_software_version": (["1"], ["", "-"]),
    "num_partitions": ([1, 2, 3, -1], [0, -2, 20_000]),
    "replication_factor": ([1, -1], [0, 2, -2]),
    "broker_id": ([7], [0, -1]),
    "count": ([2, 3, 4], [0, -1, 1]),
    "resource_types": ([2, 4, 16, 32], [8, 0, 3, -1]),
    "config_operation": ([0, 0, 1, 2, 3], [4, -1]),
    "entity_type": (["client-id", "user", "ip"], ["", "nonsense"]),
    "entity_name": (["app", "127.0.0.1"], ["", "x" * 300]),
    "match": (["app", "127.0.0.1"], ["", "nobody"]),
    "match_type": ([0, 1, 2], [3, -1]),
    "value": ([1e9, 1e6], [0.0, -1.0, 1_000_000.5]),
    "feature": (
        ["metadata.version", "group.version", "transaction.version", "share.version"],
        ["nonsense", "", "kraft.version", "eligible.leader.replicas.version"],
    ),
    "max_version_level": ([0, 1, 2, 29, 30], [-1, 7, LARGEST_SHORT]),
    "upgrade_type": ([1, 2, 3], [0, 9, -1]),
    "endpoint_type": ([1], [2, 0, 3]),
    "response_partition_limit": ([2000, 1, 2], [0, -1]),
    "election_type": ([0, 1], [2, -1]),
    "transaction_timeout_ms": ([60_000], [0, -1]),
    "producer_epoch": ([-1, 0], [1, -2]),
    "path": (["DIRECTORY"], ["/nowhere", "relative", ""]),
    "cluster_id": ([None], ["other"]),
    "rack_id": ([""], ["rack"]),
    "types_filter": (["classic", "Classic"], ["consumer", "share", "streams", "nonsense", ""]),
    "states_filter": (["Stable", "empty", "Dead", "PreparingRebalance"], ["nonsense", ""]),
    "broker_ids": ([1], [2, 0, -1]),
    "replicas": ([1], [2, -1]),
    "group_instance_id": ([None, None, "one", "two"], [""]),
    "resource_type_filter": ([1, 2, 3], [0, 7, 9, -1]),
    "resource_name_filter": ([None, "@orders"], [""]),
    "resource_pattern_type": ([3, 4], [0, 1, 2, 5, -1]),
    "pattern_type_filter": ([1, 2, 3, 4], [0, 5, -1]),
    "principal": (["User:app"], ["", "app"]),
    "principal_filter": ([None, "User:app"], [""]),
    "host": (["*", "127.0.0.1"], [""]),
    "host_filter": ([None, "*"], [""]),
    "operation": ([1, 2, 3], [0, 99, -1]),
    "permission_type": ([1, 2, 3], [0, 4, -1]),
}
FIELDS |= dict.fromkeys(("partition", "partitions", "partition_index", "partition_indexes"), FIELDS["index"])
QUOTAS = ["producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"]
ODD_QUOTAS = ["connection_creation_rate", "nonsense", ""]

TOPIC, BROKER, METRICS, GROUP = 2, 4, 16, 32
RESOURCES: dict[int, tuple[list[str], list[str]]] = {
    TOPIC: (NAMES, ODD_NAMES),
    BROKER: (["1", ""], ["2", "x", "-1"]),
    METRICS: (["@metrics"], ["", "other"]),
    GROUP: (["@readers", "@writers"], ["", "@nobody"]),
}
ODD_RESOURCES = [0, 1, 3, 64, -1]

_TOPIC_CONFIGS = {
    "cleanup.policy": (["delete", "compact", "compact,delete", "delete,compact"], ["nonsense", "", None]),
    "retention.ms": (["9223372036854775807", "-1", "3153600000000"], ["soon", "-2", "", None, " 5 "]),
    "retention.bytes": (["-1", "1000000"], ["1.5"]),
    "segment.bytes": (["1048576", "2000000"], ["13", "0", None]),
    "max.message.bytes": (["1048588", "150", "100"], ["-1", "x"]),
    "min.insync.replicas": (["1"], ["2", "0", "-1"]),
    "message.timestamp.type": (["CreateTime", "LogAppendTime"], ["createtime", ""]),
    "compression.type": (["producer", "uncompressed"], ["nonsense"]),
    "message.timestamp.before.max.ms": (["9223372036854775807"], ["1", "-1"]),
    "unclean.leader.election.enable": (["true", "false"], ["yes", "TRUE"]),
    "local.retention.ms": (["-2"], ["5", "-3"]),
    "remote.storage.enable": (["false"], ["true"]),
    "leader.replication.throttled.replicas": (["*", "", "0:1"], ["nonsense", "0:x"]),
    "flush.messages": (["1", "9223372036854775807"], ["0"]),
    "index.interval.bytes": (["4096", "0"], ["-1"]),
    "min.cleanable.dirty.ratio": (["0.5", "1"], ["1.1", "x"]),
    "preallocate": (["false"], ["maybe"]),
}
_ODD_TOPIC_CONFIGS = {
    "nonsense": (["1"], [None]),
    "": (["1"], [None]),
    "message.format.version": (["3.0"], [None]),
    "message.downconversion.enable": (["true"], [None]),
}
_BROKER_CONFIGS = {
    "message.max.bytes": (["1048588", "2000"], ["-1", "x", "", None]),
    "log.retention.ms": (["3153600000000"], ["x"]),
    "min.insync.replicas": (["1"], ["2", "0"]),
    "log.message.timestamp.type": (["CreateTime", "LogAppendTime"], ["x"]),
    "log.cleaner.threads": (["1", "2"], ["100", "0"]),
    "background.threads": (["2"], ["100", "0"]),
    "max.connections": (["1000"], ["x"]),
    "log.cleanup.policy": (["delete", "compact"], ["nonsense"]),
    "num.partitions": (["1"], ["2"]),
}
_ODD_BROKER_CONFIGS = {
    "node.id": (["1"], ["2"]),
    "log.dirs": (["/nowhere"], [None]),
    "nonsense": (["1"], [None]),
    "auto.create.topics.enable": (["true"], ["maybe"]),
    "offsets.topic.num.partitions": (["1"], [None]),
    "": (["1"], [None]),
}
CONFIGS: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {
    TOPIC: (_TOPIC_CONFIGS, _ODD_TOPIC_CONFIGS),
    BROKER: (_BROKER_CONFIGS, _ODD_BROKER_CONFIGS),
    METRICS: (
        {
            "interval.ms": (["1000"], ["1", "x"]),
            "metrics": (["a.b", "*", ""], [None]),
            "match": (["client_id=a"], ["x"]),
        },
        {"nonsense": (["1"], [None])},
    ),
    GROUP: (
        {
            "consumer.session.timeout.ms": (["45000", "50000"], ["1", "x"]),
            "consumer.heartbeat.interval.ms": (["5000"], ["1"]),
            "share.auto.offset.reset": (["latest", "earliest"], ["x"]),
        },
        {"nonsense": (["1"], [None])},
    ),
}

RESERVED_IDS = [Uuid.ZERO, Uuid(bytes(15) + b"\x01"), Uuid(b"unknown to anyone"[:16])]
