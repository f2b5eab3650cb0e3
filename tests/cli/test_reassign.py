"""`barnabas cluster reassign`: between two log directories of a broker of ours and of Apache Kafka, beside Kafka's own
tool; and what a plan may say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.cluster.reassign.looking import Directories, Moving
from barnabas.cli.cluster.reassign.plan import Replica, as_json, parse_plan
from barnabas.cli.cluster.reassign.throttles import Move, moves_of, throttled_replicas
from barnabas.cli.cluster.reassign.verifying import move_state, partition_state
from barnabas.client.address import Address
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.properties import ClientProperties
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from tests.broker.running import RunningNode
from tests.cli.beside import Both, Side, run
from tests.cli.kafkas_tool import Kafkas
from tests.clients.waiting import wait_until
from tests.kafka.broker import KafkaBroker
from tests.kafka.tool_runner import ToolRunner

TOOL = "reassign.ReassignPartitionsCommand"


class Directoried:
    """A cluster whose broker has two log directories."""

    def __init__(self, side: Side, directories: list[str]) -> None:
        self.side = side
        self.directories = directories


@pytest.fixture(scope="module")
def our_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    directory = tmp_path_factory.mktemp("ours")
    with RunningNode(directory, log_dirs=f"{directory}/a,{directory}/b") as node:
        yield node


class _Place:
    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.bootstrap = f"{host}:{port}"


@pytest.fixture(params=["ours", pytest.param("kafka", marks=[pytest.mark.java, pytest.mark.slow])])
def where(request: pytest.FixtureRequest) -> Directoried:
    def runner() -> ToolRunner:
        found: ToolRunner = request.getfixturevalue("kafka_tools")
        return found

    if request.param == "ours":
        node: RunningNode = request.getfixturevalue("our_node")
        place = _Place(*node.address)
        return Directoried(Side("Barnabas", place, runner), [str(node.directory / each) for each in "ab"])
    broker: KafkaBroker = request.getfixturevalue("strict_kafka")
    directory = broker.data_directory
    return Directoried(Side("Kafka", broker, runner), [str(directory), str(directory.with_name("more"))])


def plan(topic: str, partitions: int, directory: str) -> dict[str, Any]:
    rows = [
        {"topic": topic, "partition": number, "replicas": [1], "log_dirs": [directory]} for number in range(partitions)
    ]
    return {"version": 1, "partitions": rows}


def written(path: Path, value: object) -> str:
    path.write_text(json.dumps(value))
    return str(path)


def places(side: Side, topic: str) -> list[str]:
    told = side.json("cluster reassign", "generate", topic, "--broker-list", "1")
    return [each["log_dirs"][0] for each in told["current"]["partitions"]]


def test_replicas_move_to_another_directory(where: Directoried, name: str, tmp_path: Path) -> None:
    side = where.side
    side.create(name, 2)
    side.produce(name, b"a record")
    for target in (*where.directories, where.directories[0]):
        file = written(tmp_path / "plan.json", plan(name, 2, target))
        before = places(side, name)
        told = side.run("cluster reassign", "--execute", "--reassignment-json-file", file)
        head, text, *rest = told.split("\n\n")
        assert head == "Current partition replica assignment"
        assert [each["log_dirs"][0] for each in json.loads(text)["partitions"]] == before
        assert rest[0].startswith("Save this to use as the --reassignment-json-file option during rollback\n")
        assert f"Successfully started partition reassignments for {name}-0,{name}-1" in rest[0]
        for number in (0, 1):
            line = f"Successfully started moving log directory to {target} for replica {name}-{number} with broker 1 "
            assert line in rest[0].splitlines()

        def all_done(file: str = file) -> bool:
            return all(each["done"] for each in side.json("cluster reassign", "verify", file)["directories"])

        wait_until(all_done, f"{name} to lie in {target}")
        assert places(side, name) == [target, target]
        assert side.run("cluster reassign", "verify", file) == (
            "Status of partition reassignment:\n"
            f"Reassignment of partition {name}-0 is completed.\nReassignment of partition {name}-1 is completed.\n"
            f"Reassignment of replica {name}-0-1 completed successfully.\n"
            f"Reassignment of replica {name}-1-1 completed successfully.\n"
            f"Clearing broker-level throttles on broker 1\nClearing topic-level throttles on topic {name}\n"
        )


def test_throttles_are_set_and_cleared(where: Directoried, name: str, tmp_path: Path) -> None:
    side = where.side
    side.create(name)
    file = written(tmp_path / "plan.json", plan(name, 1, "any"))
    told = side.run(
        *("cluster reassign", "execute", file, "--throttle", "5000000", "--replica-alter-log-dirs-throttle", "6000000"),
        *("--timeout", "5000", "--additional", "--disallow-replication-factor-change"),
    )
    assert "Warning: You must run --verify periodically" in told
    assert "The inter-broker throttle limit was set to 5000000 B/s" in told
    assert "The replica-alter-dir throttle limit was set to 6000000 B/s" in told
    of_topic = {"leader.replication.throttled.replicas": "0:1", "follower.replication.throttled.replicas": ""}
    # Kafka's broker learns of it a moment later.
    wait_until(lambda: configs(side, 2, name) == of_topic, "the topic's throttles")
    wait_until(lambda: rates(side) == {"5000000"}, "the broker's throttles")
    assert "Clearing" not in side.run("cluster reassign", "verify", file, "--preserve-throttles")
    assert rates(side) == {"5000000"}
    assert "Clearing" in side.run("cluster reassign", "verify", file)
    wait_until(lambda: not configs(side, 2, name) and not rates(side), "the end of the throttles")


def rates(side: Side) -> set[str | None]:
    return set(configs(side, 4, "1").values())


def configs(side: Side, kind: int, resource: str) -> dict[str, str | None]:
    """Those that were set, of replication."""
    wanted = DescribeConfigsResource(resource_type=kind, resource_name=resource, configuration_keys=None)
    address = Address(side.broker.host, side.broker.port)
    with Cluster([address], ClientProperties(), 20) as cluster:
        answer = cluster.ask(DescribeConfigsRequest(resources=[wanted]), DescribeConfigsResponse)
    own = {1, 2}
    return {
        each.name: each.value
        for each in answer.results[0].configs
        if "replication.throttled" in each.name and each.config_source in own
    }


@pytest.mark.java
@pytest.mark.slow
def test_each_action_says_what_kafkas_tool_says(
    where: Directoried, kafka_tools: ToolRunner, name: str, tmp_path: Path
) -> None:
    side, kafkas = where.side, Kafkas(kafka_tools)
    side.create(name, 2)
    here = places(side, name)[0]
    stay = plan(name, 2, here)
    stay["partitions"][1]["log_dirs"] = ["any"]
    elsewhere = plan(name, 1, where.directories[1 - where.directories.index(here)])
    gone = {"partitions": [{"topic": "no-such-topic", "partition": 0, "replicas": [1]}]}
    topics = written(tmp_path / "topics.json", {"version": 1, "topics": [{"topic": name}]})
    files = [written(tmp_path / f"{number}.json", each) for number, each in enumerate((stay, elsewhere, gone))]
    for flags in (
        ["--list"],
        ["--generate", "--topics-to-move-json-file", topics, "--broker-list", "1"],
        ["--generate", "--topics-to-move-json-file", topics, "--broker-list", "1", "--disable-rack-aware"],
        ["--execute", "--reassignment-json-file", files[0]],
        *(["--verify", "--reassignment-json-file", file] for file in files[:2]),
        ["--verify", "--reassignment-json-file", files[0], "--preserve-throttles"],
        ["--verify", "--reassignment-json-file", files[2], "--preserve-throttles"],
        ["--cancel", "--reassignment-json-file", files[0], "--preserve-throttles"],
        ["--cancel", "--reassignment-json-file", files[0]],
    ):
        theirs = kafkas(side, TOOL, "--bootstrap-server", "BROKER", *flags)
        ours = side.attempt("kafka-reassign-partitions.sh", *flags)
        assert ours.code == theirs.code == 0, (flags, ours, theirs)
        # The tool forgets an end of a line there.
        tidied = theirs.out.replace("moves are active.", "moves are active.\n").replace("\n\n\n", "\n\n")
        assert re.sub(r"\n+$", "", ours.out) == re.sub(r"\n+$", "", tidied), flags


def test_what_cannot_be_done_is_said(where: Directoried, name: str, tmp_path: Path) -> None:
    side = where.side
    side.create(name)
    for value, words in (
        ({"partitions": []}, "Partition reassignment list cannot be empty"),
        (_one(name, replicas=[]), "Partition replica list cannot be empty"),
        (_one(name, replicas=[1, 1]), f"may not contain duplicate entries: {name}-0 contains multiple entries for 1"),
        (_one(name, replicas=[9]), "Unknown broker id 9: the cluster has 1."),
        (_one(name, partition=7), f"Unable to find partition: {name}-7."),
        (_one("no-such-topic"), "no-such-topic"),
        (_one(name, log_dirs=["/no/such/directory"]), f"Failed to alter dir for {name}-0-1 to /no/such/directory"),
        (
            {"partitions": _one(name)["partitions"] * 2},
            f"Partition reassignment contains duplicate topic partitions: {name}-0.",
        ),
    ):
        refused = side.attempt("cluster reassign", "execute", written(tmp_path / "plan.json", value))
        assert refused.code == 1, (value, refused)
        assert words in refused.err, (value, refused)


def _one(topic: str, **fields: Any) -> dict[str, Any]:
    return {"partitions": [{"topic": topic, "partition": 0, "replicas": [1], **fields}]}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["execute"], 2, "name the file that says what to execute"),
        (["generate", "--broker-list", "1"], 2, "name the topics to move"),
        (["generate", "orders"], 2, "--broker-list 1,2"),
        (["generate", "orders", "--broker-list", "a"], 2, "--broker-list a is no list of ids"),
        (["list", "--throttle", "1"], 2, "--throttle cannot be used with --list: it goes with --execute"),
        (["list", "--timeout", "1"], 2, "--timeout cannot be used with --list: it goes with --execute and --cancel"),
        (["verify", "x", "--additional"], 2, "--additional cannot be used with --verify"),
        (["execute", "x", "--bootstrap-controller", "a:1"], 2, "--bootstrap-controller cannot be used with --execute"),
        (["list", "x"], 2, "--list takes no x"),
        (["execute", "/nowhere.json"], 1, "/nowhere.json cannot be read (No such file or directory)"),
    ],
)
def test_what_cannot_be_meant(arguments: list[str], code: int, words: str) -> None:
    refused = run("cluster", "reassign", *arguments)
    assert refused.code == code
    assert words in refused.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no JSON: Expecting property name"),
        ("[]", "does not say which partitions"),
        ('{"version": 2}', "Not supported version field value 2"),
        ('{"partitions": [1]}', "1 is no reassignment of a partition"),
        ('{"partitions": [{"topic": "x", "partition": "0", "replicas": [1]}]}', "is no reassignment"),
        ('{"partitions": [{"topic": "x", "partition": 0, "replicas": [1], "log_dirs": []}]}', "Size of replicas list"),
    ],
)
def test_a_plan_that_is_none(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text)
    refused = run("cluster", "reassign", "verify", str(file))
    assert refused.code == 1
    assert words in refused.err


def test_a_plan_and_back() -> None:
    rows = [
        {"topic": "a", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "/b"]},
        {"topic": "a", "partition": 1, "replicas": [2], "log_dirs": ["any"]},
    ]
    read = parse_plan({"partitions": rows})
    assert read.directories == {Replica(2, "a", 0): "/b"}
    assert as_json(read.replicas, read.directories) == {"version": 1, "partitions": rows}


def test_throttles_hold_for_who_gives_and_for_who_takes() -> None:
    proposed = {Partition("a", 0): [2, 3], Partition("a", 1): [1]}
    current = {Partition("a", 0): [1, 2], Partition("a", 1): [1]}
    moving = {Partition("b", 0): Moving([1, 2, 4], [4], [1])}
    moves = moves_of(moving, proposed, current)
    assert moves == {
        Partition("b", 0): Move(frozenset({1, 2}), frozenset({4})),
        Partition("a", 0): Move(frozenset({1, 2}), frozenset({3})),
        Partition("a", 1): Move(frozenset({1}), frozenset()),
    }
    assert throttled_replicas(moves) == {
        "b": {"leader.replication.throttled.replicas": "0:1,0:2", "follower.replication.throttled.replicas": "0:4"},
        "a": {
            "leader.replication.throttled.replicas": "0:1,0:2,1:1",
            "follower.replication.throttled.replicas": "0:3",
        },
    }
    again = moves_of({Partition("a", 0): Moving([1, 2, 3], [3], [1])}, {Partition("a", 0): [2, 4]}, current)
    assert again[Partition("a", 0)] == Move(frozenset({1, 2}), frozenset({4}))


@pytest.mark.parametrize(
    ("found", "done", "words"),
    [
        (None, True, "cannot be found in any live log directory on broker 1."),
        (Directories(None, None), True, "There is likely an offline log directory on the broker."),
        (Directories("/a", "/b"), False, "Reassignment of replica t-0-1 is still in progress."),
        (Directories("/a", "/c"), False, "is being moved to log dir /c instead of /b."),
        (Directories("/b", None), True, "Reassignment of replica t-0-1 completed successfully."),
        (Directories("/a", None), True, "is not being moved from log dir /a to /b."),
    ],
)
def test_how_far_a_move_has_come(found: Directories | None, done: bool, words: str) -> None:
    state = move_state(Replica(1, "t", 0), found, "/b")
    assert state.done is done
    assert state.sentence.endswith(words)


def test_how_far_a_reassignment_has_come() -> None:
    partition = Partition("t", 0)
    assert not partition_state(partition, True, [1], [2]).done
    assert partition_state(partition, False, [2], [2]).sentence == "Reassignment of partition t-0 is completed."
    assert partition_state(partition, False, [1], [2, 3]).sentence == (
        "There is no active reassignment of partition t-0, but replica set is 1 rather than 2,3."
    )


@pytest.mark.java
@pytest.mark.slow
def test_controllers_list_what_moves(both: Both) -> None:
    controller = f"127.0.0.1:{both.kafka.broker.controller_port}"  # type: ignore[attr-defined]
    assert run("cluster", "reassign", "--bootstrap-controller", controller, "--list").out == (
        "No partition reassignments found.\n"
    )
    assert both.same("cluster reassign", "list") == []
