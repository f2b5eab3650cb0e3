"""`barnabas dirs` on a broker of ours and on Apache Kafka, beside kafka-log-dirs.sh on both."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.cli.dirs import Directory, _as_json, _for_kafka, _show_directories
from barnabas.cli.output import Output
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tests.cli.beside import Both, Side, run

TOOL = "LogDirsCommand"
OF_THE_MACHINE = {"directory", "totalBytes", "usableBytes"}


def filled(side: Side, name: str) -> None:
    side.create(name, 3)
    side.produce(name, b"a" * 100, b"b", partition=1)


def sorted_lines(text: str) -> list[Any]:
    """Kafka prints partitions in the order of a hash table."""
    *words, line = text.splitlines()
    told = json.loads(line)
    for broker in told["brokers"]:
        broker["logDirs"].sort(key=lambda each: each["logDir"])
        for directory in broker["logDirs"]:
            directory["partitions"].sort(key=lambda each: each["partition"])
    return [*words, told]


@pytest.mark.java
@pytest.mark.slow
def test_the_lines_are_those_of_kafka_s_tool(side: Side, name: str) -> None:
    filled(side, name)
    for more in (
        (),
        ("--topic-list", name),
        ("--broker-list", "1"),
        ("--topic-list", "nothing", "--broker-list", "1,"),
    ):
        theirs = side.tool(TOOL, "--describe", *more)
        mine = side.attempt("dirs", "--describe", *more)
        assert (mine.code, sorted_lines(mine.out)) == (0, sorted_lines(theirs.out)), (side, more)
        assert list(json.loads(mine.out.splitlines()[2])) == list(json.loads(theirs.out.splitlines()[2]))
    assert side.tool(TOOL, "--describe", "--broker-list", "7,1").code == 1
    refused = side.attempt("dirs", "--describe", "--broker-list", "7,1")
    assert (refused.code, refused.err) == (
        1,
        "barnabas dirs: There is no broker 7, which --broker-list names: the cluster has 1.\n",
    )


@pytest.mark.java
def test_json_is_the_same_on_both(both: Both, name: str) -> None:
    for side in both:
        filled(side, name)
    told = both.same("dirs", "describe", name, but=OF_THE_MACHINE)
    (directory,) = told
    sizes = [(replica["partition"], replica["size"] > 0) for replica in directory["replicas"]]
    assert sizes == [(0, False), (1, True), (2, False)]
    assert directory["usableBytes"] <= directory["totalBytes"]


def test_tables(side: Side, name: str) -> None:
    filled(side, name)
    head, row = side.run("dirs").splitlines()
    assert head.split() == [
        "BROKER",
        "DIRECTORY",
        "REPLICAS",
        "MOVING",
        "IN",
        "SIZE",
        "VOLUME",
        "FREE",
        "VOLUME",
        "STATE",
    ]
    assert row.endswith("online")
    lines = side.run("dirs", name).splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [[name, str(number), "1"] for number in range(3)]
    assert side.run("dirs", "--topic-list", name) == side.run("dirs", "describe", name)
    assert side.run("kafka-log-dirs.sh", "--describe").startswith("Querying brokers")


def test_an_offline_directory_and_a_replica_that_moves_in(capsys: pytest.CaptureFixture[str]) -> None:
    moving = DescribeLogDirsPartition(partition_index=2, partition_size=5000, offset_lag=7, is_future_key=True)
    good = DescribeLogDirsResult(
        log_dir="/b", topics=[DescribeLogDirsTopic(name="orders", partitions=[moving])], is_cordoned=True
    )
    failed = Directory(1, DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir="/a"))
    assert _for_kafka(failed)["error"] == "org.apache.kafka.common.errors.KafkaStorageException"
    assert _as_json(failed)["error"] == "KAFKA_STORAGE_ERROR"
    _show_directories([failed, Directory(1, good)], Output())
    rows = capsys.readouterr().out.splitlines()[1:]
    assert "offline" in rows[0]
    assert rows[1].split() == ["1", "/b", "0", "1", "4.9", "KiB", "-", "-", "cordoned"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--bootstrap-server", "127.0.0.1:1"], 1, "is a broker running there?"),
        (["--broker-list", "one"], 2, "--broker-list one"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(arguments: list[str], code: int, words: str) -> None:
    ran = run("dirs", *arguments)
    assert (ran.code, ran.err.count("\n")) == (code, 1)
    assert words in ran.err
