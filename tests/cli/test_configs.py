"""`barnabas configs` on a broker of ours and on Apache Kafka, beside kafka-configs.sh on both."""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.configs.java_numbers import java_double
from barnabas.cli.configs.values import keys_to_remove, parse_password, values_to_set
from barnabas.cli.failures import WrongUsage
from barnabas.client.scram import Password, salted
from tests.cli.beside import Both, Side, run
from tests.clients.waiting import wait_until
from tests.kafka.broker import KafkaBroker


def told(side: Side, *words: str, key: str) -> Any:
    """One configuration of one entity, None if it is not told; Kafka's brokers hear late of what its controller has
    taken."""
    (entity,) = side.json("configs describe", *words)
    found = {each["name"]: each for each in entity["configs"]}
    return found.get(key)


def settles(side: Side, *words: str, key: str, value: str | None) -> None:
    def happened() -> bool:
        found = told(side, *words, key=key)
        return (None if found is None else found["value"]) == value

    wait_until(happened, f"{key} to be {value}")


def test_of_a_topic(side: Side, name: str, tmp_path: Path) -> None:
    side.create(name, retention_ms="5000")
    assert told(side, "topic", name, key="retention.ms")["source"] == "DYNAMIC_TOPIC_CONFIG"
    assert told(side, "topic", name, key="cleanup.policy") is None
    everything = told(side, "--topic", name, "--all", key="retention.ms")
    assert [each["source"] for each in everything["synonyms"]][:1] == ["DYNAMIC_TOPIC_CONFIG"]
    assert told(side, "--topic", name, "--all", key="cleanup.policy")["source"] == "DEFAULT_CONFIG"

    alter = ("--alter", "--entity-type", "topics", "--entity-name", name)
    said = side.run("configs", *alter, "--add-config", "cleanup.policy=[compact,delete],segment.ms=600000")
    assert said == f"Completed updating config for topic {name}.\n"
    settles(side, "topic", name, key="cleanup.policy", value="compact,delete")
    side.run("configs", *alter, "--delete-config", "segment.ms,retention.ms", "--add-config", "flush.ms=10")
    settles(side, "topic", name, key="retention.ms", value=None)
    settles(side, "topic", name, key="flush.ms", value="10")

    file = tmp_path / "more.properties"
    file.write_text("max.message.bytes = 4000\nflush.ms=20\n")
    side.run("configs", *alter, "--add-config-file", str(file))
    settles(side, "topic", name, key="max.message.bytes", value="4000")
    side.run("configs alter topic", name, "flush.ms=30", "flush.messages=5")
    settles(side, "topic", name, key="flush.ms", value="30")
    assert name in [each["entity_name"] for each in side.json("configs describe topics")]


@pytest.fixture
def restored(side: Side) -> Iterator[Side]:
    """What holds for all brokers holds for other tests too."""
    yield side
    for words in (["broker", "1"], ["broker-defaults"]):
        (entity,) = side.json("configs describe", *words)
        own = {each["name"] for each in entity["configs"]} & {"log.retention.ms", "message.max.bytes"}
        if own:
            side.run("configs alter", *words, "--delete-config", ",".join(sorted(own)))


def test_of_brokers(restored: Side) -> None:
    side = restored
    said = side.run("configs", "--alter", "--broker-defaults", "--add-config", "log.retention.ms=100000000")
    assert said == "Completed updating default config for brokers in the cluster.\n"
    settles(side, "--broker-defaults", key="log.retention.ms", value="100000000")
    assert side.run("configs alter broker 1", "log.retention.ms=200000000").endswith("for broker 1.\n")
    settles(side, "--broker", "1", key="log.retention.ms", value="200000000")
    found = told(side, "broker", "1", "--all", key="log.retention.ms")
    assert [each["source"] for each in found["synonyms"]][:2] == [
        "DYNAMIC_BROKER_CONFIG",
        "DYNAMIC_DEFAULT_BROKER_CONFIG",
    ]
    assert [each["entity_name"] for each in side.json("configs describe brokers")] == ["1", None]
    long = ("--entity-type", "brokers", "--entity-default")
    assert side.json("configs describe", *long) == side.json("configs describe", "--broker-defaults")
    text = side.run("configs describe brokers")
    assert "this broker" in text
    assert "100000000 (all brokers)" in text


def test_of_loggers_groups_and_client_metrics(side: Side, name: str) -> None:
    (loggers,) = side.json("configs describe", "--broker-logger", "1")
    logger = loggers["configs"][0]["name"]
    before = loggers["configs"][0]["value"]
    side.run("configs alter broker-logger 1", f"{logger}=ERROR")
    settles(side, "broker-logger", "1", key=logger, value="ERROR")
    side.run("configs alter broker-logger 1", f"{logger}={before}")
    ran = side.attempt("configs alter broker-logger 1", "no.such.logger=INFO")
    assert (ran.code, "no.such.logger" in ran.err) == (1, True)

    side.run("configs", "--alter", "--group", name, "--add-config", "consumer.session.timeout.ms=50000")
    settles(side, "group", name, key="consumer.session.timeout.ms", value="50000")
    assert name in [each["entity_name"] for each in side.json("configs describe groups")]
    side.run("configs", "--alter", "--group", name, "--delete-config", "consumer.session.timeout.ms")

    side.run("configs", "--alter", "--client-metrics", name, "--add-config", "metrics=[a.b,c.d],interval.ms=60000")
    wait_until(lambda: name in side.run("client-metrics list").split(), "the subscription to be there")
    assert told(side, "client-metrics", name, key="metrics")["value"] == "a.b,c.d"
    side.run("configs", "--alter", "--client-metrics", name, "--delete-config", "metrics,interval.ms")


def test_of_users_clients_and_addresses(side: Side, name: str) -> None:
    user, client = f"{name}-user", f"{name}-client"
    both_options = ("--user", user, "--client", client)
    side.run("configs", "--alter", *both_options, "--add-config", "producer_byte_rate=1024,request_percentage=12.5")
    side.run("configs", "--alter", "--user", user, "--client-defaults", "--add-config", "consumer_byte_rate=2048")
    side.run("configs alter ip 127.9.9.9", "connection_creation_rate=7")

    def quotas(*words: str) -> Any:
        return side.json("configs describe", *words)["quotas"]

    wanted = [
        {
            "entity": {"user": user, "client-id": client},
            "quotas": {"producer_byte_rate": 1024.0, "request_percentage": 12.5},
        }
    ]
    wait_until(lambda: quotas(*both_options) == wanted, "the quota to be known")
    long = ("--entity-type", "clients", "--entity-name", client, "--entity-type", "users", "--entity-name", user)
    assert quotas(*long) == wanted
    of_all = quotas("--entity-type", "users", "--entity-type", "clients", "--entity-name", user)
    assert [each["entity"]["client-id"] for each in of_all] == [None, client]
    assert quotas("user", user) == []
    wait_until(lambda: quotas("ip", "127.9.9.9"), "the address's quota to be known")
    side.run("configs", "--alter", "--ip", "127.9.9.9", "--delete-config", "connection_creation_rate")

    ran = side.attempt("configs", "--alter", *both_options, "--delete-config", "consumer_byte_rate")
    assert (ran.code, "consumer_byte_rate is not set" in ran.err) == (1, True)
    side.run("configs", "--alter", *both_options, "--delete-config", "request_percentage,producer_byte_rate")
    side.run("configs", "--alter", "--user", user, "--client-defaults", "--delete-config", "consumer_byte_rate")
    wait_until(lambda: quotas(*both_options) == [], "the quota to be gone")


@pytest.mark.java
def test_of_passwords(kafka: Side, name: str) -> None:
    for value in ("SCRAM-SHA-256=[iterations=8192,password=a=b]", "SCRAM-SHA-512=[password=c]"):
        said = kafka.run("configs", "--alter", "--user", name, "--add-config", value)
        assert said == f"Completed updating config for user {name}.\n"

    def credentials(*options: str) -> list[tuple[str, int]]:
        found = kafka.json("configs describe", *options)["scram_credentials"]
        return [(each["mechanism"], each["iterations"]) for each in found if each["user"] == name]

    wait_until(lambda: len(credentials("--user", name)) == 2, "the passwords to be there")
    assert sorted(credentials("users")) == [("SCRAM-SHA-256", 8192), ("SCRAM-SHA-512", 4096)]
    theirs = kafka.tool("ConfigCommand", "--describe", "--user", name).out
    assert kafka.run("configs describe", "--user", name, "--plain") == theirs
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        kafka.run("configs", "--alter", "--user", name, "--delete-config", mechanism)
    wait_until(lambda: credentials("users") == [], "the passwords to be gone")
    ran = kafka.attempt("configs", "--alter", "--user", name, "--delete-config", "SCRAM-SHA-256")
    assert ran.code == 1


def test_passwords_are_not_offered_by_a_broker_that_has_none(ours: Side, name: str) -> None:
    ran = ours.attempt("configs alter user", name, "SCRAM-SHA-256=[password=secret]")
    assert (ran.code, ran.out) == (1, "")
    assert "AlterUserScramCredentials" in ran.err
    assert "secret" not in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["describe", "topic", "no-such-topic"], ["no-such-topic"]),
        (["describe", "topic", "no-such-topic", "--all"], ["no-such-topic"]),
        (["alter", "topic", "no-such-topic", "retention.ms=1"], ["topic"]),
        (["describe", "broker", "77"], ["77"]),
        (["alter", "broker", "77", "log.retention.ms=1"], ["77"]),
        (["describe", "group", "no-such-group"], ["no-such-group"]),
        (["describe", "client-metrics", "no-such"], ["no-such"]),
        (["alter", "broker", "1", "log.dirs=/tmp"], ["log.dirs"]),
        (["alter", "broker-defaults", "log.retention.ms=soon"], ["soon"]),
        (["alter", "group", "g", "consumer.session.timeout.ms=1"], ["consumer.session.timeout.ms"]),
        (["alter", "client-metrics", "m", "interval.ms=1"], ["interval.ms"]),
        (["alter", "user", "u", "producer_byte_rate=-1"], ["producer_byte_rate"]),
    ],
)
def test_what_a_broker_refuses_is_said_in_its_words(side: Side, arguments: list[str], words: list[str]) -> None:
    ran = side.attempt("configs", *arguments)
    assert (ran.code, ran.out) == (1, ""), ran
    assert all(word in ran.err for word in words), ran.err
    assert ran.err.count("\n") == 1


REFUSED = [
    [],
    ["--describe", "--alter", "--topic", "x"],
    ["--describe"],
    ["--describe", "--entity-type", "castles"],
    ["--describe", "--topic", "x", "--broker", "1"],
    ["--describe", "--entity-type", "topics", "--entity-type", "topics"],
    ["--describe", "--entity-type", "topics", "--topic", "x"],
    ["--describe", "--entity-default", "--user", "x"],
    ["--describe", "--broker", "one"],
    ["--describe", "--entity-type", "broker-loggers"],
    ["--describe", "--entity-type", "topics", "--entity-default"],
    ["--describe", "--topic", "x", "--add-config", "a=b"],
    ["--describe", "--topic", "x", "--delete-config", "a"],
    ["--describe", "--ip", "no such host"],
    ["--describe", "--topic", "no/topic"],
    ["--alter", "--topic", "x"],
    ["--alter", "--entity-type", "topics", "--add-config", "a=b"],
    ["--alter", "--entity-type", "users", "--add-config", "producer_byte_rate=1"],
    ["--alter", "--entity-type", "topics", "--entity-default", "--add-config", "a=b"],
    ["--alter", "--entity-type", "users", "--entity-type", "clients", "--entity-name", "x", "--add-config", "a=b"],
    ["--alter", "--topic", "x", "--add-config", "a=b", "--add-config-file", "/nowhere"],
    ["--alter", "--topic", "x", "--add-config-file", "/nowhere"],
    ["--alter", "--topic", "x", "--add-config", "a"],
    ["--alter", "--topic", "x", "--add-config", "a=b=c"],
    ["--alter", "--topic", "x", "--add-config", "a!=b"],
    ["--alter", "--user", "x", "--add-config", "a=b"],
    ["--alter", "--user", "x", "--delete-config", "a"],
    ["--alter", "--user", "x", "--delete-config", "producer_byte_rate"],
    ["--alter", "--user", "x", "--add-config", "producer_byte_rate=much"],
    ["--alter", "--client", "x", "--add-config", "SCRAM-SHA-256=[password=a]"],
    ["--alter", "--user-defaults", "--add-config", "SCRAM-SHA-256=[password=a]"],
    ["--alter", "--user", "x", "--add-config", "SCRAM-SHA-256=[password=a],producer_byte_rate=1"],
    ["--alter", "--user", "x", "--add-config", "SCRAM-SHA-256=[iterations=100,password=a]"],
    ["--alter", "--user", "x", "--add-config", "SCRAM-SHA-256=secret"],
    ["--alter", "--ip", "127.0.0.1", "--add-config", "producer_byte_rate=1"],
    ["--alter", "--broker-logger", "1", "--add-config", "no.such.logger=INFO"],
]


@pytest.mark.java
@pytest.mark.slow
def test_what_kafka_s_tool_refuses_is_refused(ours: Side) -> None:
    for arguments in REFUSED:
        assert ours.tool("ConfigCommand", *arguments).code == 1, arguments
        ran = ours.attempt("configs", *arguments)
        assert ran.code in (1, 2), arguments
        assert ran.err.count("\n") == 1, ran.err


def test_what_makes_no_sense_is_refused_before_a_broker_is_asked() -> None:
    at_work = {"no.such.logger=INFO", "no/topic", "producer_byte_rate"}
    for arguments in [each for each in REFUSED if not at_work & set(each)]:
        ran = run("configs", "--bootstrap-server", "127.0.0.1:1", *arguments)
        assert (ran.code, ran.out) == (1 if "/nowhere" in arguments[-1:] and len(arguments) == 5 else 2, ""), ran
        assert ran.err.count("\n") == 1, ran.err
    for arguments in (["describe", "topic", "x", "topic", "y"], ["alter", "topic", "x", "a=b", "--all"]):
        assert run("configs", "--bootstrap-server", "127.0.0.1:1", *arguments).code == 2
    assert "choose one" in run("configs", "describe", "topic", "x", "--json", "--plain").err
    assert (
        "exclude"
        in run("configs", "describe", "brokers", "--bootstrap-server", "a:1", "--bootstrap-controller", "b:1").err
    )


# Beside Kafka's tool


@pytest.mark.java
@pytest.mark.slow
def test_what_kafka_s_tool_prints_is_what_plain_prints(both: Both, name: str) -> None:
    both.create(name, retention_ms="5000", cleanup_policy="compact")
    for side in both:
        side.run("configs alter user", name, "producer_byte_rate=12345678")
        side.run("configs alter user", name, "client", name, "request_percentage=1.5")
        side.run("configs alter client-defaults", "consumer_byte_rate=2048")
        side.run("configs alter group", name, "consumer.heartbeat.interval.ms=6000")
        side.run("configs alter client-metrics", name, "metrics=a.b")
        settles(side, "group", name, key="consumer.heartbeat.interval.ms", value="6000")
        for asked in (
            ["--topic", name],
            ["--topic", name, "--all"],
            ["--entity-type", "topics", "--entity-name", name],
            ["--broker", "1"],
            ["--broker", "1", "--all"],
            ["--broker-defaults"],
            ["--entity-type", "brokers"],
            ["--entity-type", "brokers", "--entity-default"],
            ["--broker-logger", "1"],
            ["--group", name],
            ["--group", name, "--all"],
            ["--client-metrics", name],
            ["--entity-type", "client-metrics"],
            ["--user", name],
            ["--user", name, "--client", name],
            ["--entity-type", "users", "--entity-type", "clients"],
            ["--entity-type", "users", "--entity-name", name, "--entity-type", "clients"],
            ["--client-defaults"],
            ["--entity-type", "clients", "--entity-default"],
            ["--entity-type", "users"],
            ["--entity-type", "ips"],
        ):
            theirs = side.tool("ConfigCommand", "--describe", *asked)
            assert theirs.code == 0, (side, asked, theirs)
            mine = side.run("configs", "--describe", *asked, "--plain")
            assert sorted(mine.splitlines()) == sorted(theirs.out.splitlines()), (side, asked)
        side.run("configs alter client-defaults", "--delete-config", "consumer_byte_rate")
        side.run("configs alter client-metrics", name, "--delete-config", "metrics")


@pytest.mark.java
@pytest.mark.slow
def test_what_our_command_alters_is_what_kafka_s_tool_alters(both: Both, name: str) -> None:
    changes = (
        ["--topic", "NAME", "--add-config", "cleanup.policy=[compact,delete], flush.ms = 10"],
        ["--topic", "NAME", "--add-config", "segment.ms=70000", "--delete-config", "flush.ms,retention.ms"],
        ["--group", "NAME", "--add-config", "consumer.session.timeout.ms=50000"],
        ["--user", "NAME", "--client-defaults", "--add-config", "producer_byte_rate=1e3"],
        ["--entity-type", "users", "--entity-default", "--add-config", "producer_byte_rate=7"],
        ["--entity-type", "users", "--entity-default", "--delete-config", "producer_byte_rate"],
        ["--ip-defaults", "--add-config", "connection_creation_rate=1000"],
        ["--ip-defaults", "--delete-config", "connection_creation_rate"],
    )
    results = set()
    for side, tool in product(both, ("ours", "kafkas")):
        own = f"{name}-{tool}"
        side.create(own, retention_ms="5000")
        for change in changes:
            arguments = ["--alter", *(own if each == "NAME" else each for each in change)]
            results.add((tuple(change), altered(side, tool, arguments).replace(own, "NAME")))
        settles(side, "group", own, key="consumer.session.timeout.ms", value="50000")
        settles(side, "topic", own, key="segment.ms", value="70000")
        for asked in (["--topic", own], ["--group", own], ["--user", own, "--client-defaults"]):
            results.add(((asked[0],), side.run("configs describe", *asked, "--json").replace(own, "NAME")))
    assert len(results) == len(changes) + 3, results


def altered(side: Side, tool: str, arguments: list[str]) -> str:
    """What is taken away has to be there first, and Kafka's brokers learn of it a moment later."""
    said: list[Any] = []

    def is_done() -> bool:
        said.append(side.attempt("configs", *arguments) if tool == "ours" else side.tool("ConfigCommand", *arguments))
        return bool(said[-1].code == 0)

    wait_until(is_done, lambda: f"{side}, {tool}, {arguments}: {said[-1]}")
    return str(said[-1].out)


@pytest.mark.java
def test_a_controller_is_asked_where_no_broker_is(kafka: Side, kafka_broker: KafkaBroker, name: str) -> None:
    kafka.create(name)
    at = ("--bootstrap-controller", f"{kafka_broker.host}:{kafka_broker.controller_port}")
    ran = run("configs", *at, "--alter", "--topic", name, "--add-config", "retention.ms=77000")
    assert ran.code == 0, ran
    settles(kafka, "topic", name, key="retention.ms", value="77000")
    ran = run("configs", *at, "--describe", "--broker", "1", "--all", "--plain")
    assert ran.code == 0, ran
    assert "  node.id=1 sensitive=false" in ran.out
    assert run("configs", *at, "--describe", "--entity-type", "users").code == 1


# The parts that are pure


def test_values_are_read_as_kafka_reads_them(tmp_path: Path) -> None:
    assert values_to_set(["a=1, b = [x,y] ,c="], None) == {"a": "1", "b": "x,y", "c": ""}
    assert values_to_set(["a=[k=v,l=w],b=2,"], None) == {"a": "k=v,l=w", "b": "2"}
    assert values_to_set(["a$B.c-d_e=1"], None) == {"a$B.c-d_e": "1"}
    for wrong in ("a", "a=b=c", "a b=c", "=,x"):
        with pytest.raises(WrongUsage):
            values_to_set([wrong], None)
    file = tmp_path / "file.properties"
    file.write_text("a:1\n# no\nb = x,y\n")
    assert values_to_set([], file) == {"a": "1", "b": "x,y"}
    assert keys_to_remove(["a, b", "c"]) == ["a", "b", "c"]


def test_passwords_are_read_and_hashed_as_kafka_does_it() -> None:
    assert parse_password("SCRAM-SHA-256", "password=a,b=c") == ("a,b=c", 4096)
    assert parse_password("SCRAM-SHA-256", "iterations=-1,password=a") == ("a", 4096)
    assert parse_password("SCRAM-SHA-256", "iterations=5000,password=") == ("", 5000)
    for wrong in ("a", "iterations=4095,password=a", "iterations=,password=a", "iterations=-,password=a"):
        with pytest.raises(WrongUsage):
            parse_password("SCRAM-SHA-256", wrong)


def test_a_salted_password_proves_the_server_of_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    key = hmac.digest(salted("SCRAM-SHA-256", Password("pencil", 4096), salt), b"Server Key", hashlib.sha256)
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    message = f"n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}"
    proof = base64.b64encode(hmac.digest(key, message.encode(), hashlib.sha256)).decode()
    assert proof == "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_numbers_are_written_as_java_writes_them() -> None:
    written = {
        0.0: "0.0",
        1024.0: "1024.0",
        12.5: "12.5",
        0.001: "0.001",
        0.0005: "5.0E-4",
        9999999.0: "9999999.0",
        1e7: "1.0E7",
        12345678.0: "1.2345678E7",
        -1.5e10: "-1.5E10",
        1e23: "1.0E23",
        math.inf: "Infinity",
    }
    assert {value: java_double(value) for value in written} == written
    assert java_double(math.nan) == "NaN"
