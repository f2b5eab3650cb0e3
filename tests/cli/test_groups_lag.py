"""`barnabas groups lag`: sums, rates between two looks, time; and groups on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.cli.groups.describing import show_assignment
from barnabas.cli.groups.lag import Rates, Sample, rates_between, rows_of
from barnabas.cli.groups.patterns import why_invalid
from barnabas.cli.groups.positions import positions_of
from barnabas.client.address import Address
from barnabas.client.cluster import Node, Partition
from barnabas.client.committed import Committed
from barnabas.client.groups import Group, Member
from tests.cli.beside import Side, run
from tests.cli.group_members import classic_member
from tests.clients.waiting import wait_until

A0, A1, B0 = Partition("a", 0), Partition("a", 1), Partition("b", 0)


def group(*members: Member) -> Group:
    return Group("g", "Classic", "Stable", Node(1, Address("here", 9092), None), "consumer", "range", list(members))


def member(name: str, *assigned: Partition) -> Member:
    return Member(name, None, "client", "/host", list(assigned))


def test_who_has_most_comes_first_and_nobody_last() -> None:
    committed = {A0: Committed(1, None, ""), B0: Committed(9, 3, "")}
    found = positions_of(
        group(member("m1", A1), member("m2", Partition("c", 1), A0)), committed, {A0: 4, A1: 7, B0: None}
    )
    assert [(each.consumer_id, each.topic, each.partition) for each in found] == [
        ("m2", "a", 0),
        ("m2", "c", 1),
        ("m1", "a", 1),
        (None, "b", 0),
    ]
    assert [each.lag for each in found] == [3, None, None, None]
    assert [each.end for each in found] == [4, None, 7, None]
    assert [each.leader_epoch for each in found] == [None, None, None, 3]


def test_sums_by_topic_and_as_a_whole() -> None:
    committed = {A0: Committed(1, None, ""), A1: Committed(2, None, ""), B0: Committed(3, None, "")}
    positions = positions_of(group(), committed, {A0: 4, A1: 4, B0: None})
    rows = rows_of(group(), positions, by_topic=True, by_partition=False)
    assert [(row.topic, row.lag, row.unknown, len(row.partitions)) for row in rows] == [
        ("a", 5, 0, 2),
        ("b", 0, 1, 1),
        (None, 5, 1, 3),
    ]
    rows = rows_of(group(), positions, by_topic=False, by_partition=True)
    assert [(row.topic, row.partition, row.lag) for row in rows][:2] == [("a", 0, 3), ("a", 1, 2)]
    assert len(rows_of(group(), positions, by_topic=False, by_partition=False)) == 1


def test_rates_are_of_the_partitions_that_were_seen_twice() -> None:
    first = Sample(100.0, {A0: (10, 20), B0: (0, 1000)})
    last = Sample(110.0, {A0: (60, 90), A1: (5, 5)})
    rates = rates_between(first, last, [A0, A1, B0])
    assert rates == Rates(consumed=5.0, produced=7.0)
    assert rates.lag == 2.0
    assert rates.seconds_to_catch_up(30) is None
    assert Rates(consumed=10.0, produced=4.0).seconds_to_catch_up(30) == 5.0
    assert rates_between(first, first, [A0]) is None
    assert rates_between(first, last, [A1]) is None


def test_assignments() -> None:
    assert show_assignment([B0, A1, A0]) == "a:0,1;b:0"
    assert show_assignment([]) is None


def lagging(side: Side, name: str) -> None:
    side.create(name, 2)
    side.produce(name, b"a", b"b", b"c")
    side.produce(name, b"d", partition=1)
    side.run("groups reset-offsets", name, "--topic", name, "--to-offset", "1", "--execute")


def test_lag_in_records_and_in_time(side: Side, name: str) -> None:
    lagging(side, name)
    (topic, whole) = side.json("groups lag", name, "--time-lag")
    assert (topic["topic"], topic["lag"], topic["partitions"]) == (name, 2, 2)
    assert (whole["topic"], whole["lag"], whole["state"], whole["members"]) == (None, 2, "Empty", 0)
    # The records are of 2023.
    assert whole["time_lag_ms"] == pytest.approx(time.time() * 1000 - 1_700_000_000_000, abs=60_000)
    side.run("groups reset-offsets", name, "--all-topics", "--to-latest", "--execute")
    (_, whole) = side.json("groups lag", name, "--time-lag")
    assert (whole["lag"], whole["time_lag_ms"]) == (0, 0)
    everyone = {each["group"]: each for each in side.json("groups", "--lag")}
    assert everyone[name]["lag"] == 0
    assert "time_lag_ms" not in everyone[name]


def test_a_table_of_lags(ours: Side, name: str) -> None:
    lagging(ours, name)
    ours.create(f"{name}-2")
    with classic_member(ours, name, {f"{name}-2": [0]}):
        ran = ours.attempt("groups lag", name, "--verbose", "--time-lag")
    head, *rows = [line.split() for line in ran.out.splitlines()]
    assert head == ["GROUP", "STATE", "MEMBERS", "TOPIC", "PARTITION", "LAG", "TIME-LAG"]
    assert [row[:6] for row in rows] == [
        [name, "Stable", "1", name, "0", "2"],
        [name, "Stable", "1", name, "1", "0"],
        [name, "Stable", "1", f"{name}-2", "0", "-"],
        [name, "Stable", "1", "(all)", "-", "2"],
    ]
    assert "d" in rows[0][6]  # since 2023
    assert rows[1][6] == "0.0s"
    assert ran.err == "The lag in 1 partition is not known: nothing is committed there, or no leader.\n"


class Clock:
    """What the watching modules see of time: a look takes none, a pause ten seconds, and the third is the last."""

    def __init__(self, between: Callable[[], None]) -> None:
        self.now_s = 0.0
        self._between = between
        self._pauses = 0

    def monotonic(self) -> float:
        return self.now_s

    def time_ns(self) -> int:
        return time.time_ns()

    def sleep(self, seconds: float) -> None:
        assert seconds == 5.0
        self._pauses += 1
        if self._pauses == 3:
            raise KeyboardInterrupt
        self.now_s += 10
        self._between()


def test_rates_while_it_is_watched(ours: Side, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lagging(ours, name)

    def between() -> None:
        ours.produce(name, *[b"x"] * 40)
        ours.run("groups reset-offsets", name, "--all-topics", "--shift-by", "100", "--execute")
        ours.produce(name, *[b"x"] * 20)

    clock = Clock(between)
    monkeypatch.setattr("barnabas.cli.groups.lag.time", clock)
    monkeypatch.setattr("barnabas.cli.output.time", clock)
    ran = ours.attempt("groups lag", name, "--watch", "5", "--json")
    assert ran.code == 130
    wholes = [json.loads(line)[-1] for line in ran.out.splitlines()]
    assert [each["lag"] for each in wholes] == [2, 20, 20]
    assert [each["lag_per_s"] for each in wholes] == [None, 1.8, 0.9]
    assert [each["consumed_per_s"] for each in wholes] == [None, 4.2, 5.1]
    assert [each["produced_per_s"] for each in wholes] == [None, 6.0, 6.0]


def test_a_watched_table(ours: Side, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lagging(ours, name)

    def between() -> None:
        ours.run("groups reset-offsets", name, "--all-topics", "--shift-by", "1", "--execute")

    clock = Clock(between)
    monkeypatch.setattr("barnabas.cli.groups.lag.time", clock)
    monkeypatch.setattr("barnabas.cli.output.time", clock)
    ran = ours.attempt("groups lag", name, "--watch", "5")
    assert ran.code == 130
    wholes = [line.split() for line in ran.out.splitlines() if "(all)" in line]
    assert [row[4:] for row in wholes] == [
        ["2", "-", "-", "-", "-", "#" * 20],
        ["1", "-0.1", "0.1", "0.0", "10s", "#" * 20],
        ["0", "-0.1", "0.1", "0.0", "now"],
    ]


def test_watching_what_is_not_there_ends_badly(ours: Side) -> None:
    ran = ours.attempt("groups lag", "no-such-group")
    assert (ran.code, ran.out) == (1, "")
    assert "There is no group no-such-group" in ran.err


# On a terminal


def on_a_terminal(*arguments: str, answer: str = "") -> tuple[int, str]:
    """As a process of its own, whose input, output and errors are one terminal."""
    ours, its = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "barnabas.cli", *arguments], stdin=its, stdout=its, stderr=its, close_fds=True
        )
        os.close(its)
        os.write(ours, answer.encode())
        said = b""
        while True:
            try:
                data = os.read(ours, 4096)
            except OSError:  # a terminal that nobody has open any more
                break
            if not data:
                break
            said += data
        return process.wait(20), said.decode().replace("\r\n", "\n")
    finally:
        os.close(ours)


@pytest.mark.slow
def test_a_person_is_asked(ours: Side, name: str) -> None:
    lagging(ours, name)
    bootstrap = ["--bootstrap-server", ours.bootstrap]
    code, said = on_a_terminal("groups", "delete", name, *bootstrap, answer="n\n")
    assert code == 1
    assert f"Delete the groups '{name}' with all that they have committed? [y/N]" in said
    assert "Nothing was done: it was not confirmed." in said
    code, said = on_a_terminal("groups", "lag", name, *bootstrap)
    assert code == 0
    assert "\x1b[31m" in said  # nobody reads, and records wait
    code, said = on_a_terminal("records", "delete", f"{name}:0", "--all", *bootstrap, answer="y\n")
    assert code == 0
    assert f"Delete up to 3 records, for good: {name}-0 (3)? [y/N]" in said
    assert f"partition: {name}-0\tlow_watermark: 3" in said
    code, said = on_a_terminal("groups", "delete", name, *bootstrap, answer="yes\n")
    assert code == 0
    wait_until(lambda: ours.attempt("groups describe", name).code == 1, "the group to be gone")


# Patterns


@pytest.mark.parametrize(
    "pattern", ["orders", "^a.*b$", "(?i)x", "[[:alpha:]]+", r"\pN\p{Greek}", r"\Qa.b\E", r"\\1", ""]
)
def test_patterns_that_a_broker_takes(pattern: str) -> None:
    assert why_invalid(pattern) is None


@pytest.mark.parametrize("pattern", ["(", "a(?=b)", "(?<!a)b", r"(a)\1", "a**", "[a", "x++", "(?>a)", "a{2,1}"])
def test_patterns_that_none_takes(pattern: str) -> None:
    assert why_invalid(pattern)
    ran = run("groups", "--validate-regex", pattern)
    assert ran.code == 1
    assert ran.out.startswith(f"The regular expression `{pattern}` is invalid: ")


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern",
    [
        "orders",
        "(?i)x",
        "[[:alpha:]]+",
        r"\pN",
        r"\Qa.b\E",
        "(",
        "a(?=b)",
        r"(a)\1",
        "a**",
        "x++",
        "(?>a)",
        "a{2,1}",
        r"\z",
    ],
)
def test_kafka_s_tool_says_the_same_of_patterns(kafka: Side, pattern: str) -> None:
    theirs = kafka.tool("ConsumerGroupCommand", "--validate-regex", pattern).out
    assert run("groups", "--validate-regex", pattern).out.split(" is ")[1][:5] == theirs.split(" is ")[1][:5]


def test_it_is_there_under_kafka_s_names(tmp_path: Path) -> None:
    for tool in ("kafka-consumer-groups.sh", "kafka-groups", "bin/kafka-share-groups.sh", "kafka-streams-groups.bat"):
        ran = run(tool, "--list", "--no-such-option")
        assert ran.code == 2
        assert ran.err.startswith("barnabas groups: ")
