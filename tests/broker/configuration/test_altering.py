"""What is written where configurations are altered by a node's own rules, and what is left alone of what was stored."""

from __future__ import annotations

import pytest

from barnabas.broker.configuration.dynamic import check_dynamic, keep_valid
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.protocol.errors import ErrorCode, KafkaError

from .altering import APPEND, BROKER, DELETE, SET, SUBTRACT, TOPIC, Change, alter, replace

CONFIG = NodeConfig.load()


def test_a_topic_writes_what_changes_and_a_broker_all_that_is_named() -> None:
    stored = {"retention.ms": "5", "segment.bytes": "2000000"}
    changes = [Change("retention.ms", SET, "5"), Change("segment.bytes", DELETE, None), Change("flush.ms", SET, "1")]
    assert alter(CONFIG, TOPIC, "t", stored, changes) == {"segment.bytes": None, "flush.ms": "1"}
    stored = {"log.retention.ms": "5"}
    change = [Change("log.retention.ms", SET, "5")]
    assert alter(CONFIG, BROKER, "1", stored, change) == {"log.retention.ms": "5"}
    assert alter(CONFIG, BROKER, "", stored, [Change("log.roll.ms", DELETE, None)]) == {"log.roll.ms": None}


def test_what_is_not_wanted_any_more_is_removed() -> None:
    stored = {"retention.ms": "5", "flush.ms": "1"}
    assert replace(CONFIG, TOPIC, "t", stored, {"flush.ms": "1"}) == {"retention.ms": None}
    stored = {"log.retention.ms": "5"}
    wanted: dict[str, str | None] = {"log.roll.ms": "7"}
    assert replace(CONFIG, BROKER, "1", stored, wanted) == {"log.roll.ms": "7", "log.retention.ms": None}


def test_lists_grow_and_shrink() -> None:
    def policy(stored: dict[str, str], operation: int, value: str) -> str | None:
        written = alter(CONFIG, TOPIC, "t", stored, [Change("cleanup.policy", operation, value)])
        return written.get("cleanup.policy", stored.get("cleanup.policy"))

    assert policy({}, APPEND, "compact") == "delete,compact"
    assert policy({"cleanup.policy": "compact"}, APPEND, "compact") == "compact"
    assert policy({"cleanup.policy": "compact,delete"}, SUBTRACT, "delete,other") == "compact"
    assert policy({}, SUBTRACT, "delete") == ""


def refused(code: ErrorCode, text: str, call: object, *arguments: object, **named: object) -> None:
    assert callable(call)
    with pytest.raises(KafkaError) as caught:
        call(*arguments, **named)
    assert caught.value.code is code
    assert text in caught.value.message


def test_a_value_has_room_for_so_many_letters() -> None:
    def custom(value: str) -> list[Change]:
        return [Change("custom", SET, value)]

    assert alter(CONFIG, BROKER, "", {}, custom("x" * 32767)) == {"custom": "x" * 32767}
    refused(ErrorCode.INVALID_CONFIG, "32767", alter, CONFIG, BROKER, "", {}, custom("x" * 32768))
    # Java counts a letter outside the first plane twice.
    refused(ErrorCode.INVALID_CONFIG, "32767", alter, CONFIG, BROKER, "", {}, custom("\U0001f600" * 16384))


def test_min_insync_replicas_are_the_same_everywhere_with_eligible_leader_replicas() -> None:
    name = "min.insync.replicas"
    change, removal = [Change(name, SET, "1")], [Change(name, DELETE, None)]
    assert alter(CONFIG, BROKER, "1", {}, change, eligible_leader_replicas=False) == {name: "1"}
    for resource, changes in (("1", change), ("1", removal), ("", removal)):
        refused(ErrorCode.INVALID_CONFIG, name, alter, CONFIG, BROKER, resource, {}, changes)
    assert alter(CONFIG, BROKER, "", {}, change) == {name: "1"}
    refused(ErrorCode.INVALID_CONFIG, "has to have a value", replace, CONFIG, BROKER, "", {name: "1"}, {})


def test_a_refusal_says_what_to_do() -> None:
    refused(
        ErrorCode.INVALID_REQUEST,
        "set it in server.properties",
        check_dynamic,
        CONFIG,
        {"num.partitions": "2"},
        of_one_broker=True,
    )
    refused(
        ErrorCode.INVALID_REQUEST,
        "listener.name.NAME.",
        check_dynamic,
        CONFIG,
        {"ssl.key.password": "x"},
        of_one_broker=True,
    )
    refused(
        ErrorCode.INVALID_REQUEST,
        "name one",
        check_dynamic,
        CONFIG,
        {"listeners": "PLAINTEXT://:1"},
        of_one_broker=False,
    )


def test_passwords_are_in_no_refusal() -> None:
    with pytest.raises(KafkaError) as caught:
        check_dynamic(
            CONFIG, {"ssl.key.password": "hunter2", "listener.name.a.sasl.jaas.config": "hunter2"}, of_one_broker=False
        )
    assert "hunter2" not in caught.value.message


def test_what_was_stored_and_cannot_be_meant_is_left_alone_and_said() -> None:
    stored = {
        "log.retention.ms": "5",
        "message.max.bytes": "x",
        "num.partitions": "3",
        "ssl.keystore.location": "k",
        "cordoned.log.dirs": "*",
        "custom": "y",
    }
    kept, notices = keep_valid(stored, of_one_broker=False)
    assert kept == {"log.retention.ms": "5", "custom": "y"}
    assert len(notices) == 4
    kept, _ = keep_valid(stored, of_one_broker=True)
    assert kept == {"log.retention.ms": "5", "cordoned.log.dirs": "*", "custom": "y"}
