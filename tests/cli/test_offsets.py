"""`barnabas offsets` on a broker of ours and on Apache Kafka, beside kafka-get-offsets.sh on both: the same lines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.cli.failures import CommandFailed
from barnabas.cli.moments import duration_ms, show_duration, show_moment, timestamp_ms
from barnabas.cli.partition_words import read_rules, read_topic_and_numbers
from barnabas.client.cluster import Partition
from tests.cli.beside import Both, Side, run

TOOL = "GetOffsetShell"
PRODUCED_AT = 1_700_000_000_000


def filled(side: Side, name: str) -> None:
    """Eleven partitions, so that their order is to be seen; records in three of them."""
    side.create(name, 11)
    side.produce(name, b"a", b"b", b"c", partition=0)
    side.produce(name, b"d", partition=2)
    side.produce(name, b"e", b"f", partition=10)


def test_where_partitions_begin_and_end(side: Side, name: str) -> None:
    filled(side, name)
    assert side.run("offsets", "--topic", name, "--partitions", "10,2,0") == f"{name}:0:3\n{name}:10:2\n{name}:2:1\n"
    assert side.run("offsets", f"{name}:0", "--time", "earliest") == f"{name}:0:0\n"
    told = side.json("offsets", f"{name}:0-3", "--time", str(PRODUCED_AT))
    moment = "2023-11-14T22:13:20.000Z"
    assert told == [
        {"topic": name, "partition": 0, "offset": 0, "time": moment},
        {"topic": name, "partition": 2, "offset": 0, "time": moment},
    ]
    assert side.json("offsets", name, "--time", "2023-11-14T22:13:20.000") == [
        *told[:1],
        {"topic": name, "partition": 10, "offset": 0, "time": moment},
        *told[1:],
    ]
    assert side.run("offsets", name, "--time", str(PRODUCED_AT + 1)) == ""


@pytest.mark.java
@pytest.mark.slow
def test_the_lines_are_those_of_kafka_s_tool(side: Side, name: str) -> None:
    filled(side, name)
    attempts: list[list[str]] = [
        ["--topic", name],
        ["--topic", f"{name},no-such-topic"],
        ["--topic", f"'{name[:-1]}.'"],
        ["--topic", name, "--partitions", "0,10,77"],
        ["--topic-partitions", f"{name}:2-"],
        ["--topic-partitions", f"{name}:-2,{name}:5"],
        ["--topic-partitions", f"{name[:5]}.*:0,{name}:10-12"],
        ["--topic-partitions", f"{name}:"],
        *(["--topic", name, "--time", str(time)] for time in (-1, -2, -3, -4, -5, -6, PRODUCED_AT, PRODUCED_AT + 1)),
        *(
            ["--topic", name, "--time", time]
            for time in ("latest", "earliest", "max-timestamp", "earliest-local", "latest-tiered")
        ),
        ["--topic", name, "--time", "earliest-pending-upload", "--exclude-internal-topics"],
    ]
    for arguments in attempts:
        theirs = side.tool(TOOL, *arguments)
        ours = side.attempt("offsets", *arguments)
        assert (ours.code, ours.out) == (theirs.code, theirs.out), (side, arguments, theirs.err)


@pytest.mark.java
@pytest.mark.slow
def test_what_kafka_s_tool_refuses_is_refused(side: Side, name: str) -> None:
    filled(side, name)
    for arguments in (
        ["--topic", name, "--partitions", "a,b"],
        ["--topic", "["],
        ["--topic", name, "--time", "tomorrow"],
        ["--topic", name, "--topic-partitions", name],
        ["--partitions", "0", "--topic-partitions", name],
        ["--topic-partitions", f"{name}:x"],
        ["--topic-partitions", f"{name}:1:2"],
        ["--no-such-option"],
    ):
        assert side.tool(TOOL, *arguments).code != 0, arguments
        ran = side.attempt("offsets", *arguments)
        assert ran.code == 2, (arguments, ran)
        assert ran.err.count("\n") == 1
        assert ran.err.startswith("barnabas offsets: ")
    for arguments in (["--topic", f"{name}-that-is-not"], ["--topic", name, "--partitions", "99"]):
        assert side.tool(TOOL, *arguments).code != 0, arguments
        ran = side.attempt("offsets", *arguments)
        assert (ran.code, ran.err.count("\n")) == (1, 1), (arguments, ran)


@pytest.mark.java
def test_kafka_s_own_topics_may_be_left_out(both: Both, name: str) -> None:
    for side in both:
        side.create(name)
        side.run("groups", "reset-offsets", name, "--topic", name, "--to-earliest", "--execute")
        everything = side.run("offsets").splitlines()
        without = side.run("offsets", "--exclude-internal-topics").splitlines()
        assert any(line.startswith("__consumer_offsets:") for line in everything)
        assert not any(line.startswith("__") for line in without)
        assert f"{name}:0:0" in without


def test_a_name_of_kafka_s_script_does(ours: Side, name: str) -> None:
    ours.create(name)
    assert ours.run("kafka-get-offsets.sh", "--topic", name) == f"{name}:0:0\n"


def test_nobody_there() -> None:
    ran = run("offsets", "--bootstrap-server", "127.0.0.1:1", "--timeout", "2")
    assert (ran.code, ran.out) == (1, "")
    assert "127.0.0.1" in ran.err


# Words


def taken(rules: str, partitions: Iterator[Partition]) -> list[str]:
    wanted = read_rules(rules)
    return [str(each) for each in partitions if wanted.takes(each)]


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        ("a", ["a-0", "a-1", "a-2", "a-3"]),
        ("a:1", ["a-1"]),
        ("a:1-3", ["a-1", "a-2"]),
        ("a:2-", ["a-2", "a-3"]),
        ("a:-2", ["a-0", "a-1"]),
        (":0", ["a-0", "ab-0"]),
        ("ab,a:3", ["a-3", "ab-0", "ab-1", "ab-2", "ab-3"]),
        ("a.*:3", ["a-3", "ab-3"]),
        ("", ["a-0", "a-1", "a-2", "a-3", "ab-0", "ab-1", "ab-2", "ab-3"]),
    ],
)
def test_rules_of_topics_and_numbers(rules: str, wanted: list[str]) -> None:
    assert taken(rules, (Partition(topic, number) for topic in ("a", "ab") for number in range(4))) == wanted


def test_a_topic_is_a_pattern_as_kafka_s_tools_read_it() -> None:
    wanted = read_topic_and_numbers(' "orders, pay.*" ', "0,2")
    assert wanted.takes_topic("orders")
    assert wanted.takes_topic("payments")
    assert not wanted.takes_topic("orders2")
    assert wanted.takes(Partition("orders", 2))
    assert not wanted.takes(Partition("orders", 1))
    with pytest.raises(CommandFailed, match="no regular expression"):
        read_topic_and_numbers("(", None)


# Moments


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1970-01-01T00:00:00.000", 0),
        ("1970-01-01T00:00:00.123Z", 123),
        ("1970-01-01T02:00:01.000+02:00", 1000),
        ("1970-01-01T02:00:01.000+0200", 1000),
        ("1969-12-31T23:00:00.000-01", 0),
        ("1969-12-31T23:59:59.999", -1),
        ("1970-01-02", 86_400_000),
        ("1970-01-01 00:01", 60_000),
    ],
)
def test_moments(text: str, wanted: int) -> None:
    assert timestamp_ms(text) == wanted
    assert timestamp_ms(show_moment(wanted)) == wanted


@pytest.mark.parametrize("text", ["", "now", "2023-13-01", "2023-02-30T00:00:00.000", "1970-01-01T00:00:00.5", "12:00"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(CommandFailed):
        timestamp_ms(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("P1D", 86_400_000),
        ("PT1H30M", 5_400_000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("-PT1S", -1000),
        ("PT-1S", -1000),
        ("p2d", 172_800_000),
        ("90m", 5_400_000),
        ("1h30m", 5_400_000),
        ("1.5h", 5_400_000),
        ("250ms", 250),
        ("2w", 1_209_600_000),
    ],
)
def test_durations(text: str, wanted: int) -> None:
    assert duration_ms(text) == wanted


@pytest.mark.parametrize("text", ["", "P", "PT", "P1H", "1", "1y", "h", "P1DT", "1h 30"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(CommandFailed):
        duration_ms(text)


@pytest.mark.parametrize(
    ("ms", "wanted"),
    [(0, "0.0s"), (1500, "1.5s"), (42_000, "42s"), (3_600_000, "1h"), (5_460_000, "1h31m"), (90_000_000, "1d1h")],
)
def test_durations_for_people(ms: int, wanted: str) -> None:
    assert show_duration(ms) == wanted
