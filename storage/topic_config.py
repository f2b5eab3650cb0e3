"""The configurations of a topic: one line each, with Kafka's name, type, default, limits and server-wide names.

`TopicConfig.server_defaults` reads what server.properties says for all topics, `TopicConfig.parse` what a user sets for
one, with every check of Kafka's; `TopicConfig.load` takes what was stored, perhaps by another version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.topic_config_types import (
    ANY,
    BOOLEAN,
    DOUBLE,
    GZIP_LEVEL,
    INT,
    LIST,
    LONG,
    STRING,
    THROTTLED_REPLICAS,
    Rule,
    Type,
    at_least,
    between,
    list_of,
    one_of,
)

__all__ = ["KAFKA_DEFAULTS", "TOPIC_CONFIGS", "ConfigKey", "TopicConfig"]

FOREVER = 2**63 - 1
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
MEBIBYTE = 1 << 20
UNLIMITED = -1
DERIVED = -2
"""The value of local.retention.* that means: as retention.* says."""


class ConfigKey(NamedTuple):
    """One configuration. Of its server-wide names the first that is set counts; a unit in a name is converted."""

    name: str
    type: Type
    default: Any
    rule: Rule
    server_names: tuple[str, ...]
    internal: bool

    @property
    def field(self) -> str:
        return self.name.replace(".", "_")

    def parse(self, text: str) -> Any:
        return self.check(self.read(text))

    def read(self, text: str, *, called: str = "") -> Any:
        """`called` is the name under which the value was given, if it was another."""
        try:
            return self.type.parse(text)
        except ValueError:
            raise refusal(called or self.name, text, f"must be {self.type.allowed}") from None

    def check(self, value: Any, *, called: str = "") -> Any:
        value = self.rule.normalise(value)
        if not self.rule.permits(value):
            raise refusal(called or self.name, value, f"must be {self.rule.allowed}")
        return value


def refusal(name: str, value: object, why: str) -> KafkaError:
    shown = ",".join(value) if isinstance(value, tuple) else str(value)
    return KafkaError(ErrorCode.INVALID_CONFIG, f"Invalid value {shown[:200]} for configuration {name}: {why}")


def _config(type_: Type, default: Any, rule: Rule, *server_names: str, internal: bool = False) -> Any:
    return field(metadata={"key": (type_, default, rule, server_names, internal)})


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """Every configuration of one topic, by its name with underscores."""

    # fmt: off
    cleanup_policy: tuple[str, ...] = _config(LIST, ("delete",), list_of("compact", "delete"), "log.cleanup.policy")
    compression_gzip_level: int = _config(INT, -1, GZIP_LEVEL, "compression.gzip.level")
    compression_lz4_level: int = _config(INT, 9, between(1, 17), "compression.lz4.level")
    compression_type: str = _config(STRING, "producer", one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"), "compression.type")  # noqa: E501
    compression_zstd_level: int = _config(INT, 3, between(-131072, 22), "compression.zstd.level")
    delete_retention_ms: int = _config(LONG, DAY_MS, at_least(0), "log.cleaner.delete.retention.ms")
    file_delete_delay_ms: int = _config(LONG, 60_000, at_least(0), "log.segment.delete.delay.ms")
    flush_messages: int = _config(LONG, FOREVER, at_least(1), "log.flush.interval.messages")
    flush_ms: int = _config(LONG, FOREVER, at_least(0), "log.flush.interval.ms", "log.flush.scheduler.interval.ms")
    follower_replication_throttled_replicas: tuple[str, ...] = _config(LIST, (), THROTTLED_REPLICAS)
    index_interval_bytes: int = _config(INT, 4096, at_least(0), "log.index.interval.bytes")
    internal_segment_bytes: int | None = _config(INT, None, ANY, internal=True)
    leader_replication_throttled_replicas: tuple[str, ...] = _config(LIST, (), THROTTLED_REPLICAS)
    local_retention_bytes: int = _config(LONG, DERIVED, at_least(-2), "log.local.retention.bytes")
    local_retention_ms: int = _config(LONG, DERIVED, at_least(-2), "log.local.retention.ms")
    max_compaction_lag_ms: int = _config(LONG, FOREVER, at_least(1), "log.cleaner.max.compaction.lag.ms")
    max_message_bytes: int = _config(INT, MEBIBYTE + 12, at_least(0), "message.max.bytes")
    message_timestamp_after_max_ms: int = _config(LONG, HOUR_MS, at_least(0), "log.message.timestamp.after.max.ms")
    message_timestamp_before_max_ms: int = _config(LONG, FOREVER, at_least(0), "log.message.timestamp.before.max.ms")
    message_timestamp_type: str = _config(STRING, "CreateTime", one_of("CreateTime", "LogAppendTime"), "log.message.timestamp.type")  # noqa: E501
    min_cleanable_dirty_ratio: float = _config(DOUBLE, 0.5, between(0, 1), "log.cleaner.min.cleanable.ratio")
    min_compaction_lag_ms: int = _config(LONG, 0, at_least(0), "log.cleaner.min.compaction.lag.ms")
    min_insync_replicas: int = _config(INT, 1, at_least(1), "min.insync.replicas")
    preallocate: bool = _config(BOOLEAN, False, ANY, "log.preallocate")
    remote_log_copy_disable: bool = _config(BOOLEAN, False, ANY)
    remote_log_delete_on_disable: bool = _config(BOOLEAN, False, ANY)
    remote_storage_enable: bool = _config(BOOLEAN, False, ANY)
    retention_bytes: int = _config(LONG, UNLIMITED, ANY, "log.retention.bytes")
    retention_ms: int = _config(LONG, 7 * DAY_MS, at_least(-1), "log.retention.ms", "log.retention.minutes", "log.retention.hours")  # noqa: E501
    segment_bytes: int = _config(INT, 1024 * MEBIBYTE, at_least(MEBIBYTE), "log.segment.bytes")
    segment_index_bytes: int = _config(INT, 10 * MEBIBYTE, at_least(4), "log.index.size.max.bytes")
    segment_jitter_ms: int = _config(LONG, 0, at_least(0), "log.roll.jitter.ms", "log.roll.jitter.hours")
    segment_ms: int = _config(LONG, 7 * DAY_MS, at_least(1), "log.roll.ms", "log.roll.hours")
    unclean_leader_election_enable: bool = _config(BOOLEAN, False, ANY, "unclean.leader.election.enable")
    # fmt: on

    @classmethod
    def server_defaults(cls, server: Mapping[str, str]) -> TopicConfig:
        """What a broker with these properties gives to topics that say nothing; other properties are left alone."""
        values = {}
        for key in TOPIC_CONFIGS.values():
            names = [name for name in key.server_names if name in server]
            given = [_read_server_value(key, name, server[name]) for name in names]
            if names:
                values[key.field] = key.check(given[0], called=names[0])
        config = replace(KAFKA_DEFAULTS, **values)
        # A topic may keep its records for no time at all; a broker may not say so for all of them.
        if config.retention_ms == 0:
            raise refusal("log.retention.ms", 0, "must be -1 for unlimited, or at least 1")
        _check_compaction_lags(config)
        return config

    @classmethod
    def parse(
        cls,
        overrides: Mapping[str, str],
        defaults: TopicConfig | None = None,
        *,
        previous: Mapping[str, str] | None = None,
        remote_storage: bool = False,
    ) -> TopicConfig:
        """What a user wants, or KafkaError(INVALID_CONFIG). `previous` are the overrides that these would replace;
        `remote_storage` says whether this cluster has any."""
        for name in overrides:
            if name not in TOPIC_CONFIGS:
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name[:200]}")
        config = cls.load(overrides, defaults)
        _check_compaction_lags(config)
        if config.remote_storage_enable:
            _check_remote_storage(config, remote_storage)
        elif (previous or {}).get("remote.storage.enable", "").lower() == "true":
            _check_remote_storage_leaves_nothing(config)
        return config

    @classmethod
    def load(cls, overrides: Mapping[str, str], defaults: TopicConfig | None = None) -> TopicConfig:
        """What the metadata says. Names that this version does not know are left alone, and values were compared with
        one another when they were set."""
        known = [(TOPIC_CONFIGS[name], text) for name, text in overrides.items() if name in TOPIC_CONFIGS]
        base = defaults or KAFKA_DEFAULTS
        return replace(base, **{key.field: key.parse(text) for key, text in known}) if known else base

    @property
    def compact(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def delete(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def roll_bytes(self) -> int:
        """The size at which a segment is full."""
        return self.segment_bytes if self.internal_segment_bytes is None else self.internal_segment_bytes

    @property
    def roll_ms(self) -> int:
        """The age at which a segment is closed. Only closed ones are compacted, so the longest lag limits it too."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compact else self.segment_ms

    def roll_jitter_ms(self, randomness: int) -> int:
        """How much earlier one segment closes than others, by a random number that is not negative."""
        return randomness % min(self.segment_jitter_ms, self.segment_ms) if self.segment_jitter_ms else 0

    @property
    def initial_segment_bytes(self) -> int:
        return self.roll_bytes if self.preallocate else 0

    @property
    def effective_local_retention_ms(self) -> int:
        return self.retention_ms if self.local_retention_ms == DERIVED else self.local_retention_ms

    @property
    def effective_local_retention_bytes(self) -> int:
        return self.retention_bytes if self.local_retention_bytes == DERIVED else self.local_retention_bytes


TOPIC_CONFIGS: dict[str, ConfigKey] = {
    name: ConfigKey(name, *one.metadata["key"]) for one in fields(TopicConfig) for name in [one.name.replace("_", ".")]
}
"""Every configuration by its name, sorted."""

KAFKA_DEFAULTS = TopicConfig(**{key.field: key.default for key in TOPIC_CONFIGS.values()})

_UNITS_MS = {"hours": HOUR_MS, "minutes": 60_000}


def _read_server_value(key: ConfigKey, called: str, text: str) -> Any:
    unit_ms = _UNITS_MS.get(called.rpartition(".")[2])
    value = (key._replace(type=INT) if unit_ms else key).read(text, called=called)
    if unit_ms:
        value *= unit_ms
    # A broker takes every negative retention for an unlimited one.
    if key.name == "retention.ms":
        value = max(value, UNLIMITED)
    # Kafka limits what has a unit even where another name counts, and the rest only where it counts itself.
    return key.check(value, called=called) if unit_ms else value


def _check_compaction_lags(config: TopicConfig) -> None:
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        why = f"must be no more than max.compaction.lag.ms={config.max_compaction_lag_ms}"
        raise refusal("min.compaction.lag.ms", config.min_compaction_lag_ms, why)


def _check_remote_storage(config: TopicConfig, available: bool) -> None:
    if not available:
        raise refusal("remote.storage.enable", "true", "must be false, since this cluster has no remote storage")
    if config.cleanup_policy not in ((), ("delete",)):
        raise refusal("cleanup.policy", config.cleanup_policy, "must be delete, or empty, with remote storage")
    for unit in ("bytes", "ms"):
        _check_local_retention(config, unit)


def _check_local_retention(config: TopicConfig, unit: str) -> None:
    """What is kept here is a part of what is kept at all, and the same where nothing is copied away any more."""
    name = f"local.retention.{unit}"
    local = getattr(config, f"local_retention_{unit}")
    whole = getattr(config, f"retention_{unit}")
    if local == DERIVED:
        return
    limited = whole > UNLIMITED if unit == "bytes" else whole != UNLIMITED
    if limited and not UNLIMITED < local <= whole:
        raise refusal(name, local, f"must be -2, or from 0 to retention.{unit}={whole}")
    if config.remote_log_copy_disable and local != whole:
        raise refusal(name, local, f"must be -2 or retention.{unit}={whole}, since remote.log.copy.disable=true")


def _check_remote_storage_leaves_nothing(config: TopicConfig) -> None:
    if not config.remote_log_delete_on_disable:
        why = (
            "must be true as before, with remote.log.copy.disable=true to keep what is remote and add no more; "
            "or set remote.log.delete.on.disable=true to delete it"
        )
        raise refusal("remote.storage.enable", "false", why)
