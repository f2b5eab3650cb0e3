"""`barnabas records delete` on a broker of ours and on Apache Kafka, beside kafka-delete-records.sh on both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.delete_records import read_offsets_file
from barnabas.cli.failures import CommandFailed
from barnabas.client.cluster import Partition
from tests.cli.beside import Side, run

TOOL = "DeleteRecordsCommand"


def filled(side: Side, topic: str) -> None:
    side.create(topic, 2)
    for partition in range(2):
        side.produce(topic, b"a", b"b", b"c", b"d", partition=partition)


def written(path: Path, value: Any) -> str:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def starts(side: Side, topic: str) -> list[int]:
    return [each["offset"] for each in side.json("offsets", topic, "--time", "earliest")]


def test_up_to_an_offset_a_moment_or_all(side: Side, name: str) -> None:
    filled(side, name)
    assert side.json("records delete", name, "--partition", "0", "--before-offset", "3") == [
        {"topic": name, "partition": 0, "low_watermark": 3, "deleted": 3}
    ]
    assert starts(side, name) == [3, 0]
    # Records are of 2023: none is older than this, and all are older than that.
    side.run("records delete", f"{name}:1", "--before-time", "2020-01-01T00:00:00.000")
    assert starts(side, name) == [3, 0]
    side.run("records delete", f"{name}:1", "--before-time", "2024-01-01T00:00:00.000")
    assert starts(side, name) == [3, 4]
    side.produce(name, b"e", partition=1)
    told = side.json("records delete", name, "--all")
    assert [each["deleted"] for each in told] == [1, 1]
    assert starts(side, name) == [4, 5]


def test_what_is_behind_the_end_cannot_go(side: Side, name: str, tmp_path: Path) -> None:
    filled(side, name)
    ran = side.attempt("records delete", f"{name}:0", "--before-offset", "5")
    assert ran.code == 1
    assert f"partition: {name}-0\terror: There is no offset 5: the partition ends at 4." in ran.out
    rows = [{"topic": name, "partition": 0, "offset": 9}, {"topic": name, "partition": 1, "offset": 1}]
    ran = side.attempt(
        "records delete", "--offset-json-file", written(tmp_path / "offsets.json", {"partitions": rows}), "--json"
    )
    assert ran.code == 1
    refused, deleted = json.loads(ran.out)
    assert (refused["error"], refused["low_watermark"]) == ("OFFSET_OUT_OF_RANGE", None)
    assert deleted == {"topic": name, "partition": 1, "low_watermark": 1, "deleted": 1}


@pytest.mark.java
@pytest.mark.slow
def test_the_file_and_the_lines_are_those_of_kafka_s_tool(side: Side, name: str, tmp_path: Path) -> None:
    filled(side, name)
    rows = [{"topic": name, "partition": 0, "offset": 2}, {"topic": name, "partition": 1, "offset": -1}]
    file = written(tmp_path / "offsets.json", {"version": 1, "partitions": rows})
    ours = side.run("records delete", "--offset-json-file", file)
    theirs = side.tool(TOOL, "--offset-json-file", file)
    assert theirs.code == 0
    assert sorted(ours.splitlines()) == sorted(theirs.out.splitlines())
    assert ours.splitlines()[:2] == ["Executing records delete operation", "Records delete operation completed:"]
    assert starts(side, name) == [2, 4]
    for wrong in (
        "",
        "{",
        "[]",
        {},
        {"partitions": [{"topic": name}]},
        {"partitions": [{"topic": name, "partition": "0", "offset": 1}]},
        {"version": 2, "partitions": []},
        {"partitions": [rows[0], rows[0]]},
    ):
        file = written(tmp_path / "wrong.json", wrong)
        assert side.tool(TOOL, "--offset-json-file", file).code != 0, wrong
        ran = side.attempt("records delete", "--offset-json-file", file)
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1), (wrong, ran)
        assert "wrong.json" in ran.err
    assert starts(side, name) == [2, 4]


def test_a_compacted_topic_keeps_its_records(side: Side, name: str) -> None:
    side.create(name, cleanup_policy="compact")
    ran = side.attempt("records delete", name, "--all", "--json")
    assert ran.code == 1
    assert json.loads(ran.out)[0]["error"] == "POLICY_VIOLATION"


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["NAME"], 2, "--before-offset"),
        (["--all"], 2, "TOPIC"),
        (["NAME", "--all", "--before-offset", "1"], 2, "cannot be given together"),
        (["NAME", "--before-offset", "-2"], 2, "-2"),
        (["NAME", "--before-offset", "x"], 2, "x"),
        (["NAME", "--before-time", "x"], 2, "moment"),
        (["NAME:0", "--partition", "0", "--all"], 2, "--partition"),
        (["NAME:a", "--all"], 2, "NAME:a"),
        (["NAME", "--partition", "7", "--all"], 1, "NAME-7"),
        (["NAME-that-is-not", "--all"], 1, "topic"),
        (["--offset-json-file", "no-such-file"], 1, "no-such-file"),
        (["NAME", "--offset-json-file", "no-such-file"], 2, "--offset-json-file"),
    ],
)
def test_what_makes_no_sense(ours: Side, name: str, arguments: list[str], code: int, word: str) -> None:
    ours.create(name)
    ran = ours.attempt("records delete", *(each.replace("NAME", name) for each in arguments))
    assert (ran.code, ran.out) == (code, ""), ran
    assert word.replace("NAME", name) in ran.err
    assert ran.err.count("\n") == 1


def test_it_is_asked_first_and_says_how_much_goes(ours: Side, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(ours, name)
    questions: list[tuple[str, bool]] = []

    def refuse(question: str, *, yes: bool) -> None:
        questions.append((question, yes))
        if not yes:
            raise CommandFailed("Nothing was done: it was not confirmed.")

    monkeypatch.setattr("barnabas.cli.delete_records.confirm", refuse)
    ran = ours.attempt("records delete", name, "--before-offset", "3")
    assert (ran.code, ran.out) == (1, "")
    assert questions == [(f"Delete up to 6 records, for good: {name}-0 (3), {name}-1 (3)?", False)]
    assert starts(ours, name) == [0, 0]
    ours.run("records delete", name, "--before-offset", "3", "--yes")
    assert questions[1][1]


def test_records_is_a_group_of_commands() -> None:
    ran = run("records")
    assert ran.code == 2
    ran = run("records", "--help")
    assert ran.code == 0
    assert "delete" in ran.out


def test_the_file(tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    file.write_text('{"partitions": [{"topic": "a", "partition": 1, "offset": 7}]}')
    assert read_offsets_file(file) == {Partition("a", 1): 7}
