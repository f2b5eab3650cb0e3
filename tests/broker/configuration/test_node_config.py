"""A node's configuration: its defaults, whose word counts, and what is said of what is wrong."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.configuration.barnabas_defaults import FITTED_TO_BROKERS
from barnabas.broker.configuration.key import as_text
from barnabas.broker.configuration.keys import ATTRIBUTES, KEYS
from barnabas.broker.configuration.listeners import Endpoint, SecurityProtocol
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.configuration.to_come import is_to_come
from barnabas.broker.configuration.values import ConfigurationError
from barnabas.storage.topic_config import TOPIC_CONFIGS

ROOT = Path(__file__).resolve().parents[3]


def problems_of(given: dict[str, str]) -> tuple[str, ...]:
    with pytest.raises(ConfigurationError) as caught:
        NodeConfig.load(given)
    return caught.value.problems


def test_a_node_starts_with_nothing_at_all() -> None:
    config = NodeConfig.load()
    assert config.alone
    assert config.process_roles == {"broker", "controller"}
    assert config.node_id == 1
    assert config.listeners == (Endpoint("PLAINTEXT", SecurityProtocol.PLAINTEXT, "127.0.0.1", 9092),)
    assert config.advertised_listeners == config.listeners
    assert config.log_dirs == ("./barnabas-data",)
    assert config.group_initial_rebalance_delay_ms == 0
    assert config.barnabas_durability == "kafka"
    assert config.notices == ()


def test_a_node_of_several_waits_for_members_as_kafka_does() -> None:
    config = NodeConfig.load({"process.roles": "broker", "controller.quorum.bootstrap.servers": "h:1"})
    assert not config.alone
    assert config.group_initial_rebalance_delay_ms == 3000
    assert NodeConfig.load({"group.initial.rebalance.delay.ms": "7"}).group_initial_rebalance_delay_ms == 7


def test_topics_of_the_cluster_have_no_more_replicas_than_there_are_brokers() -> None:
    config = NodeConfig.load()
    assert [config.fitted_to_brokers("offsets.topic.replication.factor", live) for live in (0, 1, 2, 3, 9)] == [
        1,
        1,
        2,
        3,
        3,
    ]
    assert [config.fitted_to_brokers("transaction.state.log.min.isr", live) for live in (1, 2, 3)] == [1, 2, 2]
    config = NodeConfig.load(dict.fromkeys(FITTED_TO_BROKERS, "2"))
    assert [config.fitted_to_brokers(name, 1) for name in FITTED_TO_BROKERS] == [2] * len(FITTED_TO_BROKERS)


def test_a_node_with_a_controller_of_its_own_choice_is_checked_as_kafka_checks_it() -> None:
    wrong = problems_of({"controller.quorum.voters": "1@h:1"})
    assert wrong == ("controller.listener.names=CONTROLLER is wrong: it must be among the names of listeners.",)


def test_a_setting_wins_over_the_file_under_whichever_name() -> None:
    file = {"log.retention.ms": "5", "log.dirs": "a", "node.id": "3", "broker.id": "3", "num.partitions": "4"}
    config = NodeConfig.load(file, {"log.retention.hours": "1", "log.dir": "b", "broker.id": "4"})
    assert config.topic_defaults.retention_ms == 3_600_000
    assert config.log_dirs == ("b",)
    assert config.node_id == 4
    assert config.num_partitions == 4


def test_the_directory_of_the_file_wins_over_the_default_under_either_name() -> None:
    assert NodeConfig.load({"log.dir": "a"}).log_dirs == ("a",)
    assert NodeConfig.load({"log.dir": "a", "log.dirs": "b,c"}).log_dirs == ("b", "c")
    assert NodeConfig.load({"log.dirs": "b,c"}).metadata_log_dir == "b"


def test_everything_wrong_is_said_at_once_with_key_value_and_what_is_allowed() -> None:
    assert problems_of(
        {
            "num.partitions": "0",
            "compression.type": "zip",
            "auto.create.topics.enable": "yes",
            "group.min.session.timeout.ms": "1.5",
            "group.share.session.timeout.ms": "1",
            "log.roll.ms": "0",
            "log.retention.ms": "0",
            "listeners": "PLAINTEXT//:9092",
            "create.topic.policy.class.name": "x.Y",
        }
    ) == (
        "auto.create.topics.enable=yes is wrong: it must be true or false.",
        "compression.type=zip is wrong: it must be one of uncompressed, zstd, lz4, snappy, gzip, producer.",
        "create.topic.policy.class.name=x.Y is wrong: it must be left out, since Barnabas runs no class of Java.",
        "group.min.session.timeout.ms=1.5 is wrong: it must be an integer of 32 bits.",
        "num.partitions=0 is wrong: it must be an integer of 32 bits, at least 1.",
        "Invalid value 0 for configuration log.retention.ms: must be -1 for unlimited, or at least 1.",
        "Invalid value 0 for configuration log.roll.ms: must be at least 1.",
        "group.share.min.session.timeout.ms=45000 is wrong: it must be no more than group.share.session.timeout.ms=1.",
        "group.share.heartbeat.interval.ms=5000 is wrong: it must be less than group.share.session.timeout.ms=1.",
        "listeners is wrong: 'PLAINTEXT//:9092' is not NAME://HOST:PORT.",
    )


def test_a_wrong_node_is_said_once() -> None:
    assert len(problems_of({"node.id": "x"})) == 1


def test_what_nobody_knows_is_a_warning_with_the_nearest_name() -> None:
    (notice,) = NodeConfig.load({"num.partition": "3", "listener.name.plaintext.anything": "x"}).notices
    assert notice.warning
    assert notice.text == "num.partition is no key of a broker, and is left alone: did you mean num.partitions?"
    (notice,) = NodeConfig.load({"qqqqqqqqqq": "secret"}).notices
    assert notice.text == "qqqqqqqqqq is no key of a broker, and is left alone."


def test_what_has_no_effect_is_one_line_of_information() -> None:
    given = {"num.io.threads": "4", "zookeeper.connect": "h:1", "remote.log.reader.threads": "3", "num.partitions": "3"}
    (notice,) = NodeConfig.load(given).notices
    assert not notice.warning
    wanted = "num.io.threads, remote.log.reader.threads, zookeeper.connect"
    assert notice.text == f"These keys are accepted and have no effect in Barnabas: {wanted}."


def test_what_has_no_effect_yet_is_another() -> None:
    (notice,) = NodeConfig.load({"connections.max.reauth.ms": "9", "transaction.max.timeout.ms": "5"}).notices
    assert not notice.warning
    wanted = "connections.max.reauth.ms, transaction.max.timeout.ms"
    assert notice.text == f"These keys are accepted and have no effect in Barnabas yet: {wanted}."


def test_every_key_that_has_an_effect_is_read_somewhere() -> None:
    """Where the value of a key is used its attribute stands, or its name in quotes."""
    attributes = {key.name: attribute for attribute, key in ATTRIBUTES.items()}
    code = "\n".join(path.read_text() for path in sorted(ROOT.glob("*/**/*.py")) if _uses_values(path))
    words = set(re.findall(r"\w+", code))
    quoted = set(re.findall(r'"([a-z.]+)"', code))
    topics = {name for key in TOPIC_CONFIGS.values() for name in key.server_names}
    read = {name for name in KEYS if attributes.get(name) in words or name in quoted or name in topics}
    meaningful = {name for name, key in KEYS.items() if key.does}
    assert {name for name in meaningful if is_to_come(name)} == meaningful - read


def _uses_values(path: Path) -> bool:
    """Not what only says which keys there are, or which values fit together."""
    place = path.relative_to(ROOT)
    if place.parts[0] not in ("broker", "coordination", "replication", "storage") or "keys" in place.parts:
        return place == Path("cli/start.py")  # the other commands are clients, whose keys have the same names
    only_said = ("barnabas_defaults.py", "checks.py", "rules.py", "to_come.py", "synonyms.py", "clamping.py")
    return not (place.parts[:2] == ("broker", "configuration") and path.name in only_said)


def test_what_can_only_be_set_later_is_a_warning() -> None:
    (notice,) = NodeConfig.load({"leader.replication.throttled.rate": "5"}).notices
    assert notice.warning
    assert "only be set while the broker runs" in notice.text
    assert NodeConfig.load({"leader.replication.throttled.rate": "5"}).leader_replication_throttled_rate == 2**63 - 1


def test_heartbeats_that_are_too_rare_are_a_warning() -> None:
    (notice,) = NodeConfig.load({"broker.heartbeat.interval.ms": "5000"}).notices
    assert notice.warning
    assert "broker.heartbeat.interval.ms=5000" in notice.text


def test_a_listener_and_a_mechanism_have_values_of_their_own() -> None:
    config = NodeConfig.load(
        {
            "max.connections": "9",
            "listener.name.plaintext.max.connections": "5",
            "listener.name.plaintext.plain.sasl.jaas.config": "users",
        }
    )
    assert config.of_listener("PLAINTEXT", "max.connections") == 5
    assert config.of_listener("OTHER", "max.connections") == 9
    assert config.of_listener("PLAINTEXT", "sasl.jaas.config", "PLAIN") == "users"
    assert config.of_listener("PLAINTEXT", "sasl.jaas.config") is None


def test_the_authorizer_has_keys_of_its_own() -> None:
    authorizer = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    config = NodeConfig.load(
        {"super.users": " User:a; ;User:CN=b,O=c", "allow.everyone.if.no.acl.found": " True"} | authorizer
    )
    assert config.super_users == {"User:a", "User:CN=b,O=c"}
    assert config.allow_everyone_if_no_acl_found
    assert config.notices == ()
    (problem,) = problems_of({"super.users": "a"} | authorizer)
    assert problem == "super.users=a is wrong: it must be TYPE:NAME with semicolons between, such as User:admin."
    assert NodeConfig.load({"super.users": "a"}).super_users == frozenset()


def test_passwords_are_in_no_message() -> None:
    config = NodeConfig.load({"ssl.key.password": "hunter2", "sasl.jaas.config": "hunter2"})
    assert config.ssl_key_password == "hunter2"
    assert "hunter2" not in repr(config) + str(config)


def test_it_does_not_change() -> None:
    config = NodeConfig.load({"num.partitions": "3"})
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.num_partitions = 4  # type: ignore[misc]
    for mapping in (config.texts, config.static, config.values):
        with pytest.raises(TypeError):
            mapping["num.partitions"] = "4"  # type: ignore[index]


def test_what_is_set_later_wins_and_what_does_not_fit_leaves_all_as_it_was() -> None:
    config = NodeConfig.load({"log.retention.hours": "1"})
    later = config.with_dynamic({"log.retention.ms": "5", "message.max.bytes": "7"}, {"log.retention.ms": "6"})
    assert later.topic_defaults.retention_ms == 6
    assert later.topic_defaults.max_message_bytes == 7
    assert later.with_dynamic({}, {}).topic_defaults.retention_ms == 3_600_000
    with pytest.raises(ConfigurationError):
        later.with_dynamic({"log.retention.ms": "0"}, {})
    assert config.topic_defaults.retention_ms == 3_600_000


def test_every_key_that_does_something_says_what_in_one_line() -> None:
    for name, key in KEYS.items():
        assert key.documentation.endswith("."), name
        assert "\n" not in key.documentation
    assert all(key.does for key in ATTRIBUTES.values())


@given(st.sampled_from(sorted(KEYS)), st.integers() | st.floats() | st.booleans() | st.text())
def test_what_is_written_is_read_again(name: str, value: float | str) -> None:
    key = KEYS[name]
    try:
        read = key.parse(as_text(value) or "")
    except ValueError:
        return
    text = as_text(read)
    assert text is not None
    again = key.parse(text)
    assert again == read or (again != again and read != read)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (0.001, "0.001"),
        (0.0005, "5.0E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (-2.5e-10, "-2.5E-10"),
        (100.0, "100.0"),
        (3e20, "3.0E20"),
        (0.0, "0.0"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (True, "true"),
        (("a", "b"), "a,b"),
        ((), ""),
        (None, None),
    ],
)
def test_values_are_written_as_java_writes_them(value: object, text: str | None) -> None:
    assert as_text(value) == text
