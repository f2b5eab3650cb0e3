"""Barnabas's own keys, which Kafka would take for an unknown one and leave alone."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.configuration.key import HIGH, LOW, MEDIUM, READ_ONLY, key
from barnabas.broker.configuration.rules import PLACE
from barnabas.storage.topic_config_types import ANY, INT, LONG, STRING, at_least, one_of

__all__ = ["OwnKeys"]

MEBIBYTE = 1 << 20

# fmt: off


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class OwnKeys:
    """Each is one attribute of the node's configuration."""

    barnabas_durability: str = key(STRING, "kafka", one_of("kafka", "fsync", "memory"), HIGH, READ_ONLY,
        "When a record is safe: kafka once replicas have it, fsync once a disk has it, memory never, for tests.")
    barnabas_memory_requests_max_bytes: int = key(LONG, 256 * MEBIBYTE, at_least(MEBIBYTE), MEDIUM, READ_ONLY,
        "The most bytes of all requests that are read and not answered yet; beyond it no connection is read.")
    barnabas_memory_responses_max_bytes: int = key(LONG, 256 * MEBIBYTE, at_least(MEBIBYTE), MEDIUM, READ_ONLY,
        "The most bytes of all answers that wait in memory to be sent; beyond it no request is begun.")
    barnabas_memory_connection_max_bytes: int = key(LONG, 128 * MEBIBYTE, at_least(64 * 1024), MEDIUM, READ_ONLY,
        "The most bytes of requests and answers of one connection.")
    barnabas_recovery_process_min_bytes: int = key(LONG, 64 * MEBIBYTE, at_least(0), LOW, READ_ONLY,
        "From so many bytes to recover on, a start after a crash uses processes; each takes a tenth of a second.")
    barnabas_recovery_report_interval_ms: int = key(LONG, 1_000, at_least(0), LOW, READ_ONLY,
        "How often a start says how far it has come, at most.")
    barnabas_controlled_shutdown_timeout_ms: int = key(LONG, 300_000, at_least(0), MEDIUM, READ_ONLY,
        "How long a node that is stopped waits for the controller to let it go.")
    barnabas_cleaner_idle_timeout_ms: int = key(LONG, 60_000, at_least(0), LOW, READ_ONLY,
        "How long a process that cleans logs is kept for the next one.")
    barnabas_cold_read_max_bytes: int = key(INT, MEBIBYTE, at_least(4096), LOW, READ_ONLY,
        "The most bytes of a file that a thread reads at once for one connection, where only the disk has them.")
    barnabas_cold_read_threads: int = key(INT, 8, at_least(1), LOW, READ_ONLY,
        "How many such threads there are at most.")
    barnabas_metadata_lists_max_partitions: int = key(INT, 20_000, at_least(0), LOW, READ_ONLY,
        "The most partitions whose place in an answer to Metadata is kept for whoever asks next.")
    barnabas_telemetry_topic: str = key(STRING, "", ANY, LOW, READ_ONLY,
        "The topic that gets the metrics which clients push; without one they are not asked for any.")
    barnabas_metrics_listen: str = key(STRING, "", PLACE, LOW, READ_ONLY,
        "HOST:PORT where Prometheus finds /metrics; without it there are none.")
    barnabas_logging_format: str = key(STRING, "human", one_of("human", "json"), LOW, READ_ONLY,
        "How Barnabas writes its log: human for people, json for programs.")
