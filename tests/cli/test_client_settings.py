"""Kafka's client properties in the words of kafka-python and of librdkafka."""

from __future__ import annotations

import pytest

from barnabas.cli.clients.settings import confluent_settings, kafka_python_settings, merged
from barnabas.cli.failures import WrongUsage

KNOWN = {
    "acks": -1,
    "batch_size": 16384,
    "client_id": None,
    "compression_type": None,
    "check_crcs": True,
    "linger_ms": 0,
    "receive_buffer_bytes": None,
    "retries": float("inf"),
    "partition_assignment_strategy": (),
    "key_serializer": None,
    "partitioner": print,
}


def kafka_python(**properties: str) -> dict[str, object]:
    settings, ignored = kafka_python_settings({key.replace("_", "."): text for key, text in properties.items()}, KNOWN)
    assert ignored == []
    assert settings.pop("security_protocol") == "PLAINTEXT"
    return settings


def test_a_value_takes_precedence_over_a_file() -> None:
    assert merged({"a": "1", "b": "2"}, ["b=3=4", "c", "d="]) == {"a": "1", "b": "3=4", "c": "", "d": ""}


def test_each_value_has_the_type_that_the_library_wants() -> None:
    assert kafka_python(acks="all", retries="3", linger_ms="5 ", check_crcs="FALSE", receive_buffer_bytes="7") == {
        "acks": -1,
        "retries": 3,
        "linger_ms": 5,
        "check_crcs": False,
        "receive_buffer_bytes": 7,
    }
    assert kafka_python(acks="1", compression_type="none", client_id="me") == {
        "acks": 1,
        "compression_type": None,
        "client_id": "me",
    }
    assert kafka_python(compression_type="zstd") == {"compression_type": "zstd"}


def test_what_is_javas_or_ours_is_left_out_and_what_is_not_known_is_named() -> None:
    assert kafka_python(key_serializer="x.Y", buffer_memory="5", max_block_ms="5", interceptor_classes="a.B") == {}
    settings, ignored = kafka_python_settings({"partitioner": "x", "linger.mss": "5", "linger.ms": "5"}, KNOWN)
    assert (ignored, settings["linger_ms"]) == (["partitioner", "linger.mss"], 5)


@pytest.mark.parametrize("pair", ["linger.ms=soon", "check.crcs=maybe", "acks=most", "receive.buffer.bytes=x"])
def test_a_value_of_the_wrong_type_is_refused(pair: str) -> None:
    key, _, value = pair.partition("=")
    with pytest.raises(WrongUsage, match=pair):
        kafka_python_settings({key: value}, KNOWN)


def test_assignors_are_known_by_their_java_names() -> None:
    from kafka.coordinator.assignors.range import RangePartitionAssignor

    names = (
        "org.apache.kafka.clients.consumer.RangeAssignor,org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    )
    found = kafka_python(partition_assignment_strategy=names)["partition_assignment_strategy"]
    assert isinstance(found, list)
    assert found[0] is RangePartitionAssignor
    assert confluent_settings({"partition.assignment.strategy": names})["partition.assignment.strategy"] == (
        "range,cooperative-sticky"
    )
    with pytest.raises(WrongUsage, match="has to be of RangeAssignor"):
        kafka_python(partition_assignment_strategy="com.example.Mine")


def test_librdkafka_has_other_names_for_some() -> None:
    assert confluent_settings(
        {"fetch.max.wait.ms": "5", "max.request.size": "7", "linger.ms": "1", "key.serializer": "x", "group.id": ""}
    ) == {"fetch.wait.max.ms": "5", "message.max.bytes": "7", "linger.ms": "1", "security.protocol": "plaintext"}


def test_who_comes_is_said_to_both() -> None:
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": 'org.example.ScramLoginModule required username="a" password="b";',
    }
    assert kafka_python_settings(properties, KNOWN)[0] == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "a",
        "sasl_plain_password": "b",
    }
    assert confluent_settings(properties) == {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "a",
        "sasl.password": "b",
    }
