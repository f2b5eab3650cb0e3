"""`barnabas topics` on a broker of ours and on Apache Kafka, beside kafka-topics.sh on both."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from itertools import product

import pytest

from barnabas.cli.failures import WrongUsage
from barnabas.cli.topics.changing import parse_assignment, parse_topic_configs
from barnabas.cli.topics.selecting import matching
from barnabas.client.address import Address
from barnabas.client.cluster import Cluster
from barnabas.client.properties import ClientProperties
from barnabas.client.topics import describe_topics, describe_topics_by_id
from barnabas.protocol.errors import KafkaError
from tests.cli.beside import Both, Side, run
from tests.clients.waiting import wait_until

VARYING = {"topic_id", "size_bytes"}


def test_a_topic_s_life(side: Side, name: str) -> None:
    first = f"{name}-a"
    (made,) = side.json(
        "topics", "--create", "--topic", first, "--partitions", "2", "--config", "retention.ms=86400000"
    )
    assert (made["topic"], made["created"], made["partitions"], made["replication_factor"]) == (first, True, 2, 1)
    side.wait_until_led(first, 2)
    side.produce(first, b"x" * 10_000, b"y", partition=1)

    (told,) = side.json("topics describe", first, "--offsets")
    assert told["topic_id"] == made["topic_id"]
    assert told["configs"]["retention.ms"] == "86400000"
    assert [each["partition"] for each in told["partitions"]] == [0, 1]
    empty, filled = told["partitions"]
    assert empty["size_bytes"] == 0
    assert filled["size_bytes"] > 10_000
    assert [each["messages"] for each in (empty, filled)] == [0, 2]
    assert (filled["first_offset"], filled["end_offset"], filled["lag"]) == (0, 2, 0)
    assert (filled["leader"], filled["replicas"], filled["isr"], filled["elr"]) == (1, [1], [1], [])

    assert side.run("topics alter", first, "--partitions", "3") == f"Topic {first} has 3 partitions now.\n"
    side.wait_until_led(first, 3)
    assert side.json("topics describe", "--topic", first)[0]["partition_count"] == 3
    assert side.run("topics", "--delete", "--topic", first) == f"Deleted topic {first}.\n"
    wait_until(lambda: first not in side.json("topics", "--list"), "the topic to be gone")


def test_a_topic_with_all_that_can_be_given(side: Side, name: str) -> None:
    text = side.run("topics create", name, "--replica-assignment", "1,1,1", "--config", "cleanup.policy=compact,delete")
    assert text == f"Created topic {name}.\n"
    side.wait_until_led(name, 3)
    side.run("topics", "--alter", "--topic", name, "--partitions", "4", "--replica-assignment", "1,1,1,1")
    side.wait_until_led(name, 4)
    (told,) = side.json("topics describe", name)
    assert told["configs"]["cleanup.policy"] == "compact,delete"
    assert [each["replicas"] for each in told["partitions"]] == [[1]] * 4
    side.run("topics create", f"{name}-1", f"{name}-2", "--replication-factor", "1", "--partitions", "1")
    assert side.run("topics list", f"{name}-[12]") == f"{name}-1\n{name}-2\n"
    assert side.json("topics create", name, "--if-not-exists") == [{"topic": name, "created": False}]


def test_what_is_not_there_or_there_already(side: Side, name: str) -> None:
    side.create(name)
    ran = side.attempt("topics create", name)
    assert ran.code == 1
    assert "--if-not-exists" in ran.err
    assert side.attempt("topics create", name, "--if-not-exists") == (0, "", "")
    near = name + "x"
    for action in (["describe"], ["delete"], ["alter", "--partitions", "2"]):
        ran = side.attempt("topics", *action, near)
        assert (ran.code, ran.err) == (1, f"barnabas topics: There is no topic {near}: is {name} meant?\n")
        assert side.json("topics", *action, near, "--if-exists") == []
    assert side.attempt("topics describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAAAQ").code == 1
    assert side.json("topics describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAAAQ", "--if-exists") == []
    topic_id = side.json("topics describe", name)[0]["topic_id"]
    assert side.json("topics describe", "--topic-id", topic_id)[0]["topic"] == name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["create", "NAME", "--partitions", "1", "--config", "no.such.config=1"], ["no.such.config"]),
        (["create", "NAME", "--config", "retention.ms=soon"], ["retention.ms", "soon"]),
        (["create", "NAME", "--replication-factor", "3"], ["3"]),
        (["create", "NAME", "--replica-assignment", "7"], ["7"]),
        (["create", "not/a/name"], ["not/a/name"]),
        (["alter", "THERE", "--partitions", "1"], ["1", "partition"]),
        (["alter", "THERE", "--partitions", "2", "--replica-assignment", "1,7"], ["7"]),
    ],
)
def test_what_a_broker_refuses_is_said_in_its_words(
    side: Side, name: str, arguments: list[str], words: list[str]
) -> None:
    side.create(name)
    known = {"NAME": f"{name}-new", "THERE": name}
    ran = side.attempt("topics", *(known.get(each, each) for each in arguments))
    assert (ran.code, ran.out) == (1, "")
    assert all(word in ran.err for word in words), ran.err
    assert ran.err.count("\n") == 1


def test_tables_are_for_people(ours: Side, name: str) -> None:
    ours.create(name, 2, retention_ms="5000")
    ours.produce(name, b"a", b"b", partition=1)
    heading, configs, columns, *rows = ours.run("topics describe", name, "--offsets").splitlines()
    assert heading.startswith(f"{name}: 2 partitions, 1 replica, id ")
    assert "retention.ms=5000" in configs
    assert " ".join(columns.split()) == "PARTITION LEADER REPLICAS ISR SIZE FIRST OFFSET END OFFSET MESSAGES LAG"
    assert [row.split()[:4] for row in rows] == [["0", "1", "1", "1"], ["1", "1", "1", "1"]]
    assert [row.split()[-2:] for row in rows] == [["0", "0"], ["2", "0"]]
    none = ours.attempt("topics describe", name, "--under-replicated-partitions", "--unavailable-partitions")
    assert none == (0, "", "There are no under-replicated or unavailable partitions.\n")
    (line,) = ours.run("topics describe", name, "--at-min-isr-partitions").splitlines()[1:][:1]
    assert line.split()[:2] == [name, "0"]
    assert f"{name}  " in ours.run("topics describe", name, "--topics-with-overrides")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--lsit"], "--lsit"),
        (["--list", "--create"], "--create"),
        (["creat", "x"], "create"),
        (["--create"], "--topic"),
        (["--delete"], "--topic"),
        (["--alter", "--topic", "x"], "--partitions"),
        (["--alter", "--topic", "x", "--config", "a=b"], "barnabas configs"),
        (["--describe", "--config", "a=b"], "barnabas configs"),
        (["--create", "--topic", "x", "--partitions", "0"], "--partitions 0"),
        (["--create", "--topic", "x", "--replication-factor", "0"], "--replication-factor 0"),
        (["--create", "--topic", "x", "--replication-factor", "32768"], "32768"),
        (["--create", "--topic", "x", "--config", "a"], "KEY=VALUE"),
        (["--create", "--topic", "x", "--replica-assignment", "1:1"], "twice"),
        (["--create", "--topic", "x", "--replica-assignment", "1:2,1"], "partition 1"),
        (["--create", "--topic", "x", "--replica-assignment", "one"], "one"),
        (["--create", "--topic", "x", "--replica-assignment", "1", "--partitions", "1"], "--partitions"),
        (["--create", "--topic", "x", "--replica-assignment", "1", "--replication-factor", "1"], "both"),
        (["--create", "--topic", "x", "--if-exists"], "--if-exists"),
        (["--list", "--if-not-exists"], "--if-not-exists"),
        (["--delete", "--topic", "x", "--exclude-internal"], "--exclude-internal"),
        (["--list", "--partitions", "1"], "--partitions"),
        (["--alter", "--topic", "x", "--partitions", "2", "--replication-factor", "1"], "--replication-factor"),
        (["--describe", "--if-exists"], "--topic-id"),
        (["--describe", "--topics-with-overrides", "--unavailable-partitions"], "--unavailable-partitions"),
        (["--list", "--under-min-isr-partitions"], "--under-min-isr-partitions"),
        (["--create", "--topic", "x", "--watch"], "--watch"),
        (["--describe", "--plain", "--json"], "--plain"),
        (["--partitions", "two"], "two"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_broker_is_asked(arguments: list[str], word: str) -> None:
    ran = run("topics", "--bootstrap-server", "127.0.0.1:1", *arguments)
    assert (ran.code, ran.out) == (2, ""), ran
    assert word in ran.err
    assert ran.err.count("\n") == 1


def test_an_expression_or_an_id_that_cannot_be_read(ours: Side) -> None:
    assert "no regular expression" in ours.attempt("topics list", "(").err
    assert ours.attempt("topics describe", "--topic-id", "short").code == 2
    assert run("topics", "--bootstrap-server", "127.0.0.1:1", "--list").code == 1


def test_a_watch_goes_on_until_ctrl_c(ours: Side, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours.create(name)
    pauses = []

    def pause(seconds: float) -> None:
        """Who watches sees one message more, and then has seen enough."""
        pauses.append(seconds)
        if len(pauses) > 1:
            raise KeyboardInterrupt
        ours.produce(name, b"one")

    monkeypatch.setattr("barnabas.cli.output.time.sleep", pause)
    ran = ours.attempt("topics describe", name, "--offsets", "--json", "--watch", "0.5")
    assert ran.code == 130
    assert pauses == [0.5, 0.5]
    counts = [json.loads(line)[0]["partitions"][0]["messages"] for line in ran.out.splitlines()]
    assert counts == [0, 1]
    ran = ours.attempt("topics list", name, "--watch")
    assert (ran.code, ran.out.splitlines()[1:]) == (130, [name])


def test_older_brokers_tell_by_metadata(ours: Side, name: str) -> None:
    class Older(Cluster):
        @property
        def offered(self) -> Mapping[int, tuple[int, int]]:
            return {key: versions for key, versions in super().offered.items() if key != 75}

    ours.create(name, 2)
    where = [Address(ours.broker.host, ours.broker.port)]
    with Cluster(where, ClientProperties(), 10) as newer, Older(where, ClientProperties(), 10) as older:
        (told,), (by_metadata,) = describe_topics(newer, [name], 1), describe_topics(older, [name])
        assert [each.elr for each in told.partitions] == [[], []]
        unknown = [each._replace(elr=None, last_known_elr=None) for each in told.partitions]
        assert by_metadata == told._replace(partitions=unknown)
        assert describe_topics_by_id(newer, [told.topic_id]) == [by_metadata]
        with pytest.raises(KafkaError, match="no-such-topic"):
            describe_topics(newer, ["no-such-topic"])


@pytest.mark.slow
def test_deleting_is_confirmed_on_a_terminal(ours: Side, name: str) -> None:
    ours.create(name)
    command = [sys.executable, "-m", "barnabas.cli", "topics", "delete", name, "--bootstrap-server", ours.bootstrap]
    nothing = "barnabas topics: Nothing was done"
    for answer, code, said in (
        ("n\n", 1, f"n\r\n{nothing}"),
        ("\x04", 1, f"\r\n{nothing}"),
        ("y\n", 0, f"y\r\nDeleted topic {name}."),
    ):
        ours_end, its_end = pty.openpty()
        with subprocess.Popen(command, stdin=its_end, stdout=its_end, stderr=its_end) as process:
            os.close(its_end)
            told = os.read(ours_end, 1000).decode()
            assert told == f"Delete topic {name}, with all records? [y/N] "
            os.write(ours_end, answer.encode())
            assert process.wait(20) == code
            assert os.read(ours_end, 1000).decode().startswith(said)
            os.close(ours_end)


def test_topics_are_matched_as_kafka_matches_them() -> None:
    names = ["__consumer_offsets", "orders", "orders-eu", "payments"]
    assert matching(names, []) == names
    assert matching(names, [], internal=False) == names[1:]
    assert matching(names, ["orders"]) == ["orders"]
    assert matching(names, ["orders.*"]) == ["orders", "orders-eu"]
    assert matching(names, ["payments, orders"]) == ["orders", "payments"]
    assert matching(names, ["'payments'"]) == ["payments"]
    assert matching(names, ["pay", ""]) == []


def test_configs_and_assignments_are_read_as_kafka_reads_them() -> None:
    assert parse_topic_configs(["a = b", "c=d,e"]) == {"a": "b", "c": "d,e"}
    for wrong in ("a", "a=", "a=b=c", "="):
        with pytest.raises(WrongUsage):
            parse_topic_configs([wrong])
    assert parse_assignment("1:2, 2:3") == [[1, 2], [2, 3]]
    assert parse_assignment("") == parse_assignment(None) == []


# Beside Kafka's tool


@pytest.mark.java
@pytest.mark.slow
def test_what_kafka_s_tool_prints_is_what_plain_prints(both: Both, name: str) -> None:
    both.create(f"{name}-1", 3, retention_ms="5000", cleanup_policy="compact")
    both.create(f"{name}-2")
    one = f"{name}-.*"
    for side in both:
        side.run("topics create", f"{name}-at", "--config", "min.insync.replicas=1", "--partitions", "2")
        side.run("topics create", f"{name}-under", "--config", "min.insync.replicas=2", "--partitions", "1")
        side.wait_until_led(f"{name}-under")
        side.wait_until_led(f"{name}-at", 2)
        topic_id = side.json("topics describe", f"{name}-1")[0]["topic_id"]
        for options in (
            [],
            ["--topics-with-overrides"],
            ["--under-replicated-partitions"],
            ["--unavailable-partitions"],
            ["--under-min-isr-partitions"],
            ["--at-min-isr-partitions"],
            ["--at-min-isr-partitions", "--under-min-isr-partitions"],
            ["--partition-size-limit-per-response", "1"],
            ["--exclude-internal"],
            ["--topic-id", topic_id],
            ["--if-exists"],
        ):
            asked = ("--describe", "--topic", one, *options)
            theirs = side.tool("TopicCommand", *asked)
            lines = [line for line in theirs.out.splitlines() if not line.startswith("Only topic id")]
            assert _unordered(side.run("topics", *asked, "--plain").splitlines()) == _unordered(lines), options
            assert (theirs.code == 0) and (lines or "unavailable" in options[0] or "under-repl" in options[0])
        listed = side.tool("TopicCommand", "--list", "--exclude-internal").out
        assert side.run("topics", "--list", "--exclude-internal") == listed


def _unordered(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Kafka's tool has topics and their configurations in the order of a hash table."""
    parted = (line.partition("Configs: ") for line in lines)
    return sorted((before + word, sorted(configs.split(","))) for before, word, configs in parted)


@pytest.mark.java
@pytest.mark.slow
def test_what_our_command_makes_is_what_kafka_s_tool_makes(both: Both, name: str) -> None:
    options = ("--partitions", "3", "--replication-factor", "1", "--config", "max.message.bytes=5000")
    for side, tool in product(both, ("ours", "kafkas")):
        topic = f"{name}-{tool}"
        create = ("--create", "--topic", topic, *options)
        alter = ("--alter", "--topic", topic, "--partitions", "4")
        for asked in (create, alter):
            if tool == "ours":
                side.run("topics", *asked)
            else:
                assert side.tool("TopicCommand", *asked).code == 0
            side.wait_until_led(topic, 3)
        side.wait_until_led(topic, 4)
    texts = {
        json.dumps(side.json("topics describe", topic)).replace(topic, "TOPIC").replace(told, "ID")
        for side, topic in product(both, (f"{name}-ours", f"{name}-kafkas"))
        for told in [side.json("topics describe", topic)[0]["topic_id"]]
    }
    assert len(texts) == 1, texts


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["--create"],
        ["--list", "--create", "--topic", "x"],
        ["--alter", "--topic", "x"],
        ["--alter", "--topic", "x", "--partitions", "2", "--config", "a=b"],
        ["--alter", "--topic", "no-such-topic", "--partitions", "2"],
        ["--delete", "--topic", "no-such-topic"],
        ["--describe", "--topic", "no-such-topic"],
        ["--describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAAAQ"],
        ["--describe", "--topic-id", "short"],
        ["--describe", "--if-exists"],
        ["--list", "--if-exists"],
        ["--list", "--if-not-exists"],
        ["--delete", "--topic", "x", "--exclude-internal"],
        ["--create", "--topic", "x", "--if-exists"],
        ["--create", "--topic", "x", "--partitions", "0"],
        ["--create", "--topic", "x", "--partitions", "two"],
        ["--create", "--topic", "x", "--replication-factor", "40000"],
        ["--create", "--topic", "x", "--replica-assignment", "1:1"],
        ["--create", "--topic", "x", "--replica-assignment", "1", "--partitions", "1"],
        ["--create", "--topic", "x", "--config", "a=b=c"],
        ["--create", "--topic", "x", "--config", "a="],
        ["--create", "--topic", "x", "--config", "no.such.config=1"],
        ["--describe", "--topics-with-overrides", "--unavailable-partitions"],
        ["--describe", "--partitions", "1"],
        ["--list", "--topic", "("],
    ],
)
def test_what_kafka_s_tool_refuses_is_refused(ours: Side, arguments: list[str]) -> None:
    assert ours.tool("TopicCommand", *arguments).code == 1
    ran = ours.attempt("topics", *arguments)
    assert ran.code in (1, 2)
    assert ran.err.count("\n") == 1


@pytest.mark.java
@pytest.mark.slow
def test_both_clusters_are_told_of_alike(both: Both, name: str) -> None:
    both.create(name, 3, retention_ms="5000")
    both.produce(name, b"one", b"two", partition=2)
    told = both.same("topics describe", name, "--offsets", but=VARYING | {"configs"})
    assert told[0]["partitions"][2]["messages"] == 2
    assert both.same_text("topics describe", "no-such-topic").code == 1
