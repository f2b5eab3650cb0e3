"""`barnabas groups reset-offsets`, `delete` and `delete-offsets` on a broker of ours and on Apache Kafka, beside
kafka-consumer-groups.sh on both: the same plans, the same CSV, the same offsets in the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barnabas.cli.failures import CommandFailed
from barnabas.cli.groups.plans import plan_lines, read_plan
from barnabas.client.cluster import Partition
from tests.cli.beside import Side
from tests.cli.group_members import classic_member

TOOL = "ConsumerGroupCommand"
BEFORE_ALL, BETWEEN, BEHIND_ALL = "2020-01-01T00:00:00.000", "2023-11-14T22:13:20.000", "2023-11-15T00:00:00.000+00:00"
"""The tests' records are all of 2023-11-14T22:13:20Z."""


def filled(side: Side, topic: str, partitions: int = 2) -> None:
    side.create(topic, partitions)
    for partition in range(partitions):
        side.produce(topic, b"a", b"b", b"c", b"d", b"e", b"f", partition=partition)


def offsets(side: Side, group: str) -> dict[str, int]:
    (told,) = side.json("groups describe", group)
    return {f"{each['topic']}-{each['partition']}": each["offset"] for each in told["offsets"]}


def set_to(side: Side, group: str, topic: str, offset: int) -> None:
    side.run("groups reset-offsets", group, "--topic", topic, "--to-offset", str(offset), "--execute")


def rows(text: str) -> list[list[str]]:
    """Group, topic, partition and new offset; ours tells more behind that."""
    return sorted(line.split()[:4] for line in text.splitlines()[1:] if line.strip())


@pytest.mark.parametrize(
    ("scenario", "wanted"),
    [
        (["--to-earliest"], [1, 0]),
        (["--to-latest"], [6, 6]),
        (["--to-current"], [3, 6]),
        (["--to-offset", "2"], [2, 2]),
        (["--to-offset", "0"], [1, 0]),
        (["--to-offset", "100"], [6, 6]),
        (["--to-datetime", BEFORE_ALL], [1, 0]),
        (["--to-datetime", BETWEEN], [1, 0]),
        (["--to-datetime", BEHIND_ALL], [6, 6]),
        (["--by-duration", "P10000D"], [1, 0]),
        (["--by-duration", "1h"], [6, 6]),
    ],
)
def test_each_scenario(side: Side, name: str, scenario: list[str], wanted: list[int]) -> None:
    filled(side, name)
    side.run("records delete", f"{name}:0", "--before-offset", "1")
    set_to(side, name, f"{name}:0", 3)
    reset = ["reset-offsets", name, "--topic", name, *scenario]
    planned = side.json("groups", *reset, "--dry-run")
    assert not planned["executed"]
    assert [each["new_offset"] for each in planned["offsets"]] == wanted
    assert [each["current_offset"] for each in planned["offsets"]] == [3, None]
    assert offsets(side, name) == {f"{name}-0": 3}
    assert side.json("groups", *reset, "--execute") == planned | {"executed": True}
    assert offsets(side, name) == {f"{name}-0": wanted[0], f"{name}-1": wanted[1]}


@pytest.mark.java
@pytest.mark.slow
def test_the_plans_are_those_of_kafka_s_tool(side: Side, name: str, tmp_path: Path) -> None:
    filled(side, name)
    filled(side, f"{name}-2", 1)
    side.run("records delete", f"{name}:0", "--before-offset", "1")
    for topic in (name, f"{name}-2"):
        set_to(side, name, topic, 3)
        set_to(side, f"{name}-other", topic, 2)
    plan = tmp_path / "plan.csv"
    plan.write_text(f"{name},0,4\n{name},1,99\n")
    both_groups = tmp_path / "groups.csv"
    both_groups.write_text(f"{name},{name},0,0\n{name}-other,{name}-2,0,5\n")
    group, two = ["--group", name], ["--group", name, "--group", f"{name}-other"]
    for scope in (
        [*group, "--topic", name, "--to-earliest"],
        [*group, "--topic", f"{name}:1", "--to-latest"],
        [*group, "--topic", name, "--topic", f"{name}-2:0", "--to-offset", "4"],
        [*group, "--all-topics", "--to-current"],
        [*group, "--all-topics", "--shift-by", "-1"],
        [*group, "--all-topics", "--shift-by", "-100"],
        [*group, "--all-topics", "--shift-by", "2"],
        [*group, "--topic", name, "--to-datetime", BEFORE_ALL],
        [*group, "--topic", name, "--to-datetime", "2023-11-14T23:13:20.001+01:00"],
        [*group, "--topic", name, "--by-duration", "PT1H"],
        [*group, "--topic", name, "--by-duration", "P9999DT1H1M1.5S"],
        [*group, "--from-file", str(plan)],
        [*group, "--from-file", str(both_groups)],
        [*two, "--from-file", str(both_groups)],
        [*two, "--all-topics", "--to-earliest"],
        ["--group", f"{name}-new", "--topic", name, "--to-latest"],
        ["--group", f"{name}-new", "--all-topics", "--to-latest"],
    ):
        for mode in ("--dry-run", "--export"):
            arguments = ["--reset-offsets", *scope, mode]
            theirs = side.tool(TOOL, *arguments)
            ours = side.attempt("groups", *arguments)
            assert (ours.code, theirs.code) == (0, 0), arguments
            if mode == "--export":
                # It warns on the same stream.
                kafkas = theirs.out.split("latest known offset.\n")[-1]
                assert sorted(ours.out.split("\n")) == sorted(kafkas.split("\n")), arguments
            else:
                kafkas = theirs.out[theirs.out.find("GROUP") :]
                assert rows(ours.out.lstrip("\n")) == rows(kafkas), arguments


@pytest.mark.java
@pytest.mark.slow
def test_the_csv_of_each_is_read_by_the_other(side: Side, name: str, tmp_path: Path) -> None:
    short, long = name[-12:].strip("-"), f"{name}-with-a-very-long-name-indeed"
    groups = [f"{name}-1", f"a group with, a comma {name}"]
    for topic in (short, long):
        filled(side, topic, 1)
        for group in groups:
            set_to(side, group, topic, 3)
    for scope in ([["--group", groups[0]]], [["--group", group] for group in groups]):
        named = [word for each in scope for word in each]
        export = ["--reset-offsets", *named, "--all-topics", "--to-current", "--export", "--dry-run"]
        ours, theirs = side.run("groups", *export), side.tool(TOOL, *export).out
        assert sorted(ours.split("\n")) == sorted(theirs.split("\n"))
        # The last lines end the CSV, and then what was printed.
        assert ours.endswith("\n\n")
        assert theirs.endswith("\n\n")
        (tmp_path / "ours.csv").write_text(ours)
        (tmp_path / "theirs.csv").write_text(theirs)
        read = ["--reset-offsets", *named, "--dry-run", "--from-file"]
        by_us = side.run("groups", *read, str(tmp_path / "theirs.csv"), "--export")
        by_them = side.tool(TOOL, *read, str(tmp_path / "ours.csv"), "--export").out
        assert sorted(by_us.split("\n")) == sorted(by_them.split("\n")) == sorted(ours.split("\n"))


def test_a_group_with_members_is_left_alone(side: Side, name: str) -> None:
    filled(side, name)
    set_to(side, f"{name}-2", name, 1)
    with classic_member(side, name, {name: [0]}):
        arguments = ["reset-offsets", name, f"{name}-2", "--topic", name, "--to-earliest", "--execute", "--json"]
        ran = side.attempt("groups", *arguments)
        assert ran.code == 1
        assert ran.err == (
            f"barnabas groups: {name} has members (it is Stable): stop them, and its offsets can be set.\n"
        )
        assert {each["group"] for each in json.loads(ran.out)["offsets"]} == {f"{name}-2"}
        ran = side.attempt("groups delete", name, f"{name}-2")
        assert (ran.code, ran.out) == (1, f"Deletion of requested consumer groups ('{name}-2') was successful.\n")
        assert ran.err.startswith(f"barnabas groups: {name} is not deleted. The group has members")
    assert side.json("groups", "--delete", "--group", name) == [{"group": name, "deleted": True}]
    assert side.attempt("groups describe", name).code == 1


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--topic", "NAME-that-is-not", "--to-earliest"], "topic"),
        (["--topic", "NAME:7", "--to-earliest"], "NAME-7"),
        (["--topic", "NAME", "--shift-by", "1"], "nothing to shift"),
        (["--from-file", "no-such-file"], "no-such-file"),
        (["--from-file", "WRONG"], "line 2"),
        (["--from-file", "OTHER"], "no line for NAME"),
        (["--from-file", "GONE"], "NAME-gone-0"),
    ],
)
def test_what_cannot_be_reset(side: Side, name: str, tmp_path: Path, arguments: list[str], word: str) -> None:
    filled(side, name, 1)
    files = {"WRONG": f"{name},0,1\n{name},zero,1\n", "OTHER": f"other,{name},0,1\n", "GONE": f"{name}-gone,0,1\n"}
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    known = {file: str(tmp_path / file) for file in files}
    ran = side.attempt(
        "groups reset-offsets", name, *(known.get(each, each.replace("NAME", name)) for each in arguments), "--execute"
    )
    assert ran.code == 1
    assert word.replace("NAME", name) in ran.err
    assert ran.err.count("\n") == 1
    assert side.attempt("groups describe", name).code == 1


@pytest.mark.java
@pytest.mark.slow
def test_offsets_are_deleted_as_by_kafka_s_tool(side: Side, name: str) -> None:
    filled(side, name)
    filled(side, f"{name}-2", 1)
    delete = ["--delete-offsets", "--topic", f"{name}:1", "--topic", f"{name}-2", "--topic", f"{name}-that-is-not"]
    told = []
    for group in (f"{name}-a", f"{name}-b"):
        for topic in (name, f"{name}-2"):
            set_to(side, group, topic, 3)
        if group.endswith("a"):
            text = side.tool(TOOL, *delete, "--group", group).out
        else:
            text = side.attempt("groups", *delete, "--group", group).out
        lines = [line.split() for line in text.splitlines() if line.strip() and "rror" not in line]
        told.append(sorted(line for line in lines if "Request" not in line))
        assert offsets(side, group) == {f"{name}-0": 3}
    assert told[0] == told[1]
    done = ["--delete-offsets", "--topic", f"{name}:0"]
    theirs = side.tool(TOOL, *done, "--group", f"{name}-a").out
    ours = side.run("groups", *done, "--group", f"{name}-b")
    assert [" ".join(line.split()) for line in ours.splitlines()] == [
        " ".join(line.split()).replace("-a.", "-b.") for line in theirs.splitlines()
    ]


def test_offsets_that_cannot_be_deleted(side: Side, name: str) -> None:
    filled(side, name, 1)
    with classic_member(side, name, {name: [0]}):
        ran = side.attempt("groups delete-offsets", name, "--topic", name)
        assert ran.code == 1
        assert "The group's members consume this topic now; stop them first [GROUP_SUBSCRIBED_TO_TOPIC]" in ran.out
    ran = side.attempt("groups delete-offsets", f"{name}-that-is-not", "--topic", name)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"barnabas groups: There is no group {name}-that-is-not")
    told = side.attempt("groups delete-offsets", name, "--topic", f"{name}-no", "--json")
    assert told.code == 1
    assert json.loads(told.out)[0]["error"] == "UNKNOWN_TOPIC_OR_PARTITION"


def test_what_cannot_be_undone_is_asked_first(side: Side, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(side, name, 1)
    set_to(side, name, name, 3)

    def refuse(question: str, *, yes: bool) -> None:
        if not yes:
            raise CommandFailed(question)

    for module in ("resetting", "deleting"):
        monkeypatch.setattr(f"barnabas.cli.groups.{module}.confirm", refuse)
    reset = ["groups reset-offsets", name, "--topic", name, "--to-earliest"]
    assert side.attempt(*reset, "--execute").err == f"barnabas groups: Set 1 offsets of '{name}'?\n"
    assert side.attempt(*reset, "--dry-run").code == 0
    assert side.attempt("groups delete-offsets", name, "--topic", name).code == 1
    assert side.attempt("groups delete", name).code == 1
    assert offsets(side, name) == {f"{name}-0": 3}
    side.run(*reset, "--execute", "--yes")
    assert offsets(side, name) == {f"{name}-0": 0}
    side.run("groups delete", name, "--force")


# CSV


def test_what_kafka_s_library_quotes() -> None:
    plan = {"g 1": {Partition("a" * 24, 1): 5, Partition("a" * 25, 0): 6}, 'say "so"': {Partition("b", 0): 1}}
    assert plan_lines(plan, with_group=True) == [
        f'"g 1",{"a" * 24},1,5',
        f'"g 1","{"a" * 25}",0,6',
        '"say ""so""",b,0,1',
    ]
    assert plan_lines(plan, with_group=False) == [f"{'a' * 24},1,5", f'"{"a" * 25}",0,6', "b,0,1"]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    plan = {'g, "1"': {Partition("a" * 30, 0): 6, Partition("b", 1): 7}, "g2": {Partition("b", 0): 1}}
    file = tmp_path / "plan.csv"
    file.write_text("\n".join(plan_lines(plan, with_group=True)) + "\n\n")
    assert read_plan(file, None) == plan
    assert read_plan(file, "g2") == plan
    file.write_text("b,0,1\r\n")
    assert read_plan(file, "g2") == {"g2": {Partition("b", 0): 1}}
    with pytest.raises(CommandFailed, match="group,topic,partition,offset"):
        read_plan(file, None)
