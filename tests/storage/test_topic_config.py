"""A topic's configuration: its defaults, what overrides them, and what is said of a value that cannot be."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.topic_config import KAFKA_DEFAULTS, TOPIC_CONFIGS, TopicConfig

WEEK_MS = 604_800_000


def refused(overrides: dict[str, str], defaults: TopicConfig | None = None, *, remote_storage: bool = False) -> str:
    with pytest.raises(KafkaError) as raised:
        TopicConfig.parse(overrides, defaults, remote_storage=remote_storage)
    assert raised.value.code is ErrorCode.INVALID_CONFIG
    return raised.value.message


def refused_server(server: dict[str, str]) -> str:
    with pytest.raises(KafkaError) as raised:
        TopicConfig.server_defaults(server)
    assert raised.value.code is ErrorCode.INVALID_CONFIG
    return raised.value.message


def test_without_overrides_it_is_the_defaults() -> None:
    assert TopicConfig.parse({}) == TopicConfig.server_defaults({"node.id": "1"}) == KAFKA_DEFAULTS
    assert KAFKA_DEFAULTS.max_message_bytes == 1_048_588
    assert KAFKA_DEFAULTS.retention_ms == KAFKA_DEFAULTS.segment_ms == WEEK_MS
    with pytest.raises(FrozenInstanceError):
        KAFKA_DEFAULTS.retention_ms = 1  # type: ignore[misc]


def test_the_table_is_sorted_and_every_default_is_allowed() -> None:
    assert list(TOPIC_CONFIGS) == sorted(TOPIC_CONFIGS)
    for key in TOPIC_CONFIGS.values():
        assert key.name == "internal.segment.bytes" or key.check(key.default) == getattr(KAFKA_DEFAULTS, key.field)


def test_every_type_is_read_as_java_reads_it() -> None:
    config = TopicConfig.parse(
        {
            "cleanup.policy": " compact , delete,compact ",
            "preallocate": " TRUE",
            "segment.bytes": "+2000000\n",
            "retention.ms": "-1",
            "min.cleanable.dirty.ratio": "2.5e-1f",
            "compression.type": " zstd ",
            "leader.replication.throttled.replicas": "0:1, 1:2",
            "follower.replication.throttled.replicas": "*",
        }
    )
    assert config.cleanup_policy == ("compact", "delete")
    assert config.preallocate is True
    assert (config.segment_bytes, config.retention_ms, config.min_cleanable_dirty_ratio) == (2_000_000, -1, 0.25)
    assert config.compression_type == "zstd"
    assert config.leader_replication_throttled_replicas == ("0:1", "1:2")
    assert config.follower_replication_throttled_replicas == ("*",)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("segment.bytes", "1048575", "at least 1048576"),
        ("segment.bytes", "2147483648", "an integer of 32 bits"),
        ("segment.bytes", "1_048_576", "an integer of 32 bits"),
        ("retention.ms", "-2", "at least -1"),
        ("retention.ms", "9223372036854775808", "an integer of 64 bits"),
        ("preallocate", "yes", "true or false"),
        ("min.cleanable.dirty.ratio", "1.01", "from 0 to 1"),
        ("min.cleanable.dirty.ratio", "nan", "a number"),
        ("cleanup.policy", "compact,", "a list of compact, delete"),
        ("cleanup.policy", "Compact", "a list of compact, delete"),
        ("compression.type", "none", "one of uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("compression.gzip.level", "0", "from 1 to 9, or -1"),
        ("compression.lz4.level", "18", "from 1 to 17"),
        ("message.timestamp.type", "createtime", "one of CreateTime, LogAppendTime"),
        ("leader.replication.throttled.replicas", "0:1,2", "* or a list of PARTITION:BROKER"),
    ],
)
def test_a_refusal_names_key_value_and_what_is_allowed(name: str, value: str, allowed: str) -> None:
    assert refused({name: value}) == f"Invalid value {value} for configuration {name}: must be {allowed}"


def test_a_refusal_is_no_longer_than_it_has_to_be() -> None:
    assert len(refused({"segment.bytes": "x" * 100_000})) < 400
    assert len(refused({"x" * 100_000: "1"})) < 400


def test_an_unknown_name_is_refused_when_set_and_left_alone_when_stored() -> None:
    assert refused({"segment.byte": "1"}) == "Unknown topic config name: segment.byte"
    assert TopicConfig.load({"message.downconversion.enable": "true", "segment.ms": "5"}).segment_ms == 5
    with pytest.raises(KafkaError):
        TopicConfig.load({"segment.ms": "0"})


def test_overrides_win_over_the_defaults_of_the_server() -> None:
    defaults = TopicConfig.server_defaults({"log.retention.hours": "1", "log.segment.bytes": "2000000"})
    config = TopicConfig.parse({"retention.ms": "7"}, defaults)
    assert (config.retention_ms, config.segment_bytes) == (7, 2_000_000)


@pytest.mark.parametrize(
    ("server", "retention_ms"),
    [
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.minutes": "-7"}, -1),
        ({"log.retention.ms": "-9", "log.retention.hours": "0"}, -1),
        ({"log.retention.hours": "2147483647"}, 2147483647 * 3_600_000),
        ({"retention.ms": "5"}, WEEK_MS),
    ],
)
def test_the_first_name_of_the_server_counts(server: dict[str, str], retention_ms: int) -> None:
    assert TopicConfig.server_defaults(server).retention_ms == retention_ms


def test_a_refusal_of_the_server_names_the_key_that_was_set() -> None:
    message = "Invalid value x for configuration log.roll.hours: must be an integer of 32 bits"
    assert refused_server({"log.roll.hours": "x"}) == message
    assert refused_server({"log.roll.hours": "x", "log.roll.ms": "1"}) == message
    assert "configuration log.roll.hours: must be at least 1" in refused_server({"log.roll.hours": "0"})
    assert "configuration log.retention.ms: must be -1" in refused_server({"log.retention.minutes": "0"})
    assert "log.cleaner.min" not in refused_server({"log.cleaner.max.compaction.lag.ms": "0"})


def test_compaction_lags_must_leave_time_between() -> None:
    lags = {"min.compaction.lag.ms": "6", "max.compaction.lag.ms": "5"}
    assert refused(lags) == (
        "Invalid value 6 for configuration min.compaction.lag.ms: must be no more than max.compaction.lag.ms=5"
    )
    defaults = TopicConfig.server_defaults({"log.cleaner.max.compaction.lag.ms": "5"})
    assert "max.compaction.lag.ms=5" in refused({"min.compaction.lag.ms": "6"}, defaults)
    assert TopicConfig.load(lags).min_compaction_lag_ms == 6


REMOTE = {"remote.storage.enable": "true"}


@pytest.mark.parametrize(
    ("overrides", "refusal"),
    [
        ({}, ""),
        ({"cleanup.policy": ""}, ""),
        ({"cleanup.policy": "compact"}, "must be delete, or empty"),
        ({"cleanup.policy": "delete,compact"}, "must be delete, or empty"),
        ({"local.retention.ms": "604800000"}, ""),
        ({"local.retention.ms": "604800001"}, "from 0 to retention.ms=604800000"),
        ({"local.retention.ms": "-1"}, "from 0 to retention.ms=604800000"),
        ({"local.retention.ms": "-1", "retention.ms": "-1"}, ""),
        ({"local.retention.bytes": "9"}, ""),
        ({"local.retention.bytes": "9", "retention.bytes": "8"}, "from 0 to retention.bytes=8"),
        ({"local.retention.bytes": "-1", "retention.bytes": "8"}, "from 0 to retention.bytes=8"),
        (
            {"local.retention.bytes": "7", "retention.bytes": "8", "remote.log.copy.disable": "true"},
            "or retention.bytes=8",
        ),
        ({"local.retention.ms": "7", "remote.log.copy.disable": "true"}, "must be -2 or retention.ms="),
        ({"local.retention.ms": "604800000", "remote.log.copy.disable": "true"}, ""),
    ],
)
def test_remote_storage(overrides: dict[str, str], refusal: str) -> None:
    if refusal:
        assert refusal in refused(REMOTE | overrides, remote_storage=True)
    else:
        assert TopicConfig.parse(REMOTE | overrides, remote_storage=True).remote_storage_enable
    assert "this cluster has no remote storage" in refused(REMOTE | overrides)
    assert not TopicConfig.parse(overrides).remote_storage_enable


def test_remote_storage_is_not_turned_off_by_accident() -> None:
    with pytest.raises(KafkaError, match=r"remote\.log\.delete\.on\.disable=true"):
        TopicConfig.parse({}, previous=REMOTE)
    TopicConfig.parse({"remote.log.delete.on.disable": "true"}, previous=REMOTE)
    TopicConfig.parse({}, previous={"remote.storage.enable": "false"})


def test_what_follows_from_several() -> None:
    config = TopicConfig.parse({"cleanup.policy": "compact", "max.compaction.lag.ms": "5", "retention.bytes": "9"})
    assert (config.compact, config.delete, config.roll_ms) == (True, False, 5)
    assert (config.effective_local_retention_ms, config.effective_local_retention_bytes) == (WEEK_MS, 9)
    config = TopicConfig.parse({"internal.segment.bytes": "9", "preallocate": "true", "local.retention.ms": "3"})
    assert (config.compact, config.delete, config.roll_ms) == (False, True, WEEK_MS)
    assert (config.roll_bytes, config.initial_segment_bytes, config.segment_bytes) == (9, 9, 1 << 30)
    assert (config.effective_local_retention_ms, config.effective_local_retention_bytes) == (3, -1)
    assert (KAFKA_DEFAULTS.roll_bytes, KAFKA_DEFAULTS.initial_segment_bytes) == (1 << 30, 0)


def test_segments_do_not_all_roll_at_once() -> None:
    assert KAFKA_DEFAULTS.roll_jitter_ms(12345) == 0
    jittered = TopicConfig.parse({"segment.jitter.ms": "100", "segment.ms": "50"})
    assert {jittered.roll_jitter_ms(number) for number in range(1000)} == set(range(50))
