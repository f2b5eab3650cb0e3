"""Logs on disk: what topics have that say nothing, flushing, cleaning and deleting."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from barnabas.broker.configuration.key import CLUSTER_WIDE, HIGH, LONG_MAX, LOW, MEDIUM, READ_ONLY, Key, key, of_topics
from barnabas.storage.topic_config_types import ANY, BOOLEAN, DOUBLE, INT, LONG, at_least

__all__ = ["OTHERS", "WITHOUT_EFFECT", "LogKeys"]

# fmt: off

@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class LogKeys:
    """Each is one attribute of the node's configuration."""

    log_flush_scheduler_interval_ms: int = key(LONG, LONG_MAX, ANY, HIGH, READ_ONLY,
        "How often it is looked for logs that are due to be flushed.")
    log_flush_offset_checkpoint_interval_ms: int = key(INT, 60_000, at_least(0), HIGH, READ_ONLY,
        "How often recovery points are written down.")
    log_flush_start_offset_checkpoint_interval_ms: int = key(INT, 60_000, at_least(0), HIGH, READ_ONLY,
        "How often the starts of logs are written down.")
    log_retention_check_interval_ms: int = key(LONG, 300_000, at_least(1), MEDIUM, READ_ONLY,
        "How often it is looked for segments that are due to be deleted.")
    log_initial_task_delay_ms: int = key(LONG, 30_000, at_least(0), LOW, READ_ONLY,
        "How long after the start flushing, retention and cleaning begin.", internal=True)
    log_cleaner_backoff_ms: int = key(LONG, 15_000, at_least(0), MEDIUM, CLUSTER_WIDE,
        "The pause of the cleaner where nothing is to be cleaned.")
    log_cleaner_dedupe_buffer_size: int = key(LONG, 134_217_728, ANY, MEDIUM, CLUSTER_WIDE,
        "The most bytes for the keys of one cleaning.")
    log_cleaner_io_buffer_load_factor: float = key(DOUBLE, 0.9, ANY, MEDIUM, CLUSTER_WIDE,
        "How full the cleaner's table of keys may be.")
    log_cleaner_io_buffer_size: int = key(INT, 524_288, at_least(0), MEDIUM, CLUSTER_WIDE,
        "The most bytes that the cleaner reads at once.")
    log_cleaner_io_max_bytes_per_second: float = key(DOUBLE, sys.float_info.max, ANY, MEDIUM, CLUSTER_WIDE,
        "The most bytes each second that the cleaner reads and writes.")
    log_cleaner_threads: int = key(INT, 1, at_least(0), MEDIUM, CLUSTER_WIDE,
        "How many logs are cleaned at the same time.")
    log_cleaner_enable: bool = key(BOOLEAN, True, ANY, MEDIUM, READ_ONLY,
        "Whether logs are cleaned at all.")
    num_recovery_threads_per_data_dir: int = key(INT, 2, at_least(1), HIGH, CLUSTER_WIDE,
        "How many logs of one directory are loaded after a crash, and closed at a stop, at the same time.")


OTHERS = (
    of_topics("log.segment.bytes", HIGH),
    of_topics("log.index.size.max.bytes", MEDIUM),
    of_topics("log.index.interval.bytes", MEDIUM),
    of_topics("log.preallocate", MEDIUM),
    of_topics("log.cleanup.policy", MEDIUM),
    of_topics("log.retention.bytes", HIGH),
    Key("log.retention.ms", LONG, None, ANY, HIGH, CLUSTER_WIDE,
        "How long topics without retention.ms keep records; -1 is forever. It wins over minutes and hours."),
    Key("log.retention.minutes", INT, None, ANY, HIGH, READ_ONLY,
        "The same in minutes, where log.retention.ms is not set."),
    Key("log.retention.hours", INT, 168, ANY, HIGH, READ_ONLY,
        "The same in hours, where neither log.retention.ms nor log.retention.minutes is set."),
    Key("log.roll.ms", LONG, None, ANY, HIGH, CLUSTER_WIDE,
        "The age at which topics without segment.ms close a segment."),
    Key("log.roll.hours", INT, 168, at_least(1), HIGH, READ_ONLY,
        "The same in hours, where log.roll.ms is not set."),
    Key("log.roll.jitter.ms", LONG, None, ANY, HIGH, CLUSTER_WIDE,
        "How much earlier segments close by chance, in topics without segment.jitter.ms."),
    Key("log.roll.jitter.hours", INT, 0, at_least(0), HIGH, READ_ONLY,
        "The same in hours, where log.roll.jitter.ms is not set."),
    of_topics("log.flush.interval.messages", HIGH),
    Key("log.flush.interval.ms", LONG, None, ANY, HIGH, CLUSTER_WIDE,
        "How long records of topics without flush.ms may be unwritten; without it log.flush.scheduler.interval.ms."),
    of_topics("log.segment.delete.delay.ms", HIGH),
    of_topics("log.message.timestamp.type", MEDIUM),
    of_topics("log.message.timestamp.before.max.ms", MEDIUM),
    of_topics("log.message.timestamp.after.max.ms", MEDIUM),
    of_topics("log.cleaner.delete.retention.ms", MEDIUM),
    of_topics("log.cleaner.min.compaction.lag.ms", MEDIUM),
    of_topics("log.cleaner.max.compaction.lag.ms", MEDIUM),
    of_topics("log.cleaner.min.cleanable.ratio", MEDIUM),
    of_topics("log.local.retention.bytes", MEDIUM),
    of_topics("log.local.retention.ms", MEDIUM),
    of_topics("message.max.bytes", HIGH),
    of_topics("compression.type", HIGH),
    of_topics("compression.gzip.level", MEDIUM),
    of_topics("compression.lz4.level", MEDIUM),
    of_topics("compression.zstd.level", MEDIUM),
    of_topics("min.insync.replicas", HIGH),
    of_topics("unclean.leader.election.enable", HIGH),
)
"""They are looked at together, and made into something else."""

WITHOUT_EFFECT = (
    Key("num.replica.alter.log.dirs.threads", INT, None, ANY, HIGH, READ_ONLY),
)
