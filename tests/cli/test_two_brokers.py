"""What one broker cannot show: replicas that move between two brokers of Apache Kafka, elections that elect, and a
broker that is gone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.client.address import Address
from barnabas.client.cluster import Cluster
from barnabas.client.properties import ClientProperties
from tests.cli.beside import Side
from tests.cli.kafkas_tool import Kafkas
from tests.clients.waiting import PATIENCE_S, wait_until
from tests.kafka.broker import KafkaBroker
from tests.kafka.tool_runner import ToolRunner

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOOL = "reassign.ReassignPartitionsCommand"
LARGE = b"x" * 800_000


@pytest.fixture(scope="module")
def brokers(kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[KafkaBroker]]:
    with KafkaBroker(kafka_classpath, tmp_path_factory.mktemp("first")) as first:
        second = KafkaBroker(
            kafka_classpath,
            tmp_path_factory.mktemp("second"),
            node_id=2,
            controllers=f"{first.host}:{first.controller_port}",
            cluster_id=first.cluster_id,
        )
        with second:
            yield [first, second]


@pytest.fixture
def side(brokers: list[KafkaBroker], kafka_tools: ToolRunner) -> Side:
    return Side("Kafka", brokers[0], lambda: kafka_tools)


def create(side: Side, topic: str, assignment: str) -> None:
    side.run("topics", "--create", "--topic", topic, "--replica-assignment", assignment)
    wait_until(
        lambda: sum(name.startswith(topic) for name in leaders(side)) > assignment.count(","), f"{topic} to be led"
    )


def plan(path: Path, topic: str, *replicas: int) -> str:
    rows = [{"topic": topic, "partition": 0, "replicas": list(replicas)}]
    path.write_text(json.dumps({"version": 1, "partitions": rows}))
    return str(path)


def state(side: Side, file: str) -> str:
    (found,) = side.json("cluster reassign", "verify", file, "--preserve-throttles")["partitions"]
    return str(found["state"])


def test_a_partition_moves_slowly_is_called_back_and_moves(side: Side, kafka_tools: ToolRunner, tmp_path: Path) -> None:
    create(side, "moving", "1")
    for _ in range(4):
        side.produce("moving", LARGE)
    file = plan(tmp_path / "plan.json", "moving", 2)
    started = side.run("cluster reassign", "execute", file, "--throttle", "1024")
    assert "The inter-broker throttle limit was set to 1024 B/s" in started
    assert "Successfully started partition reassignment for moving-0" in started
    kafkas = Kafkas(kafka_tools)
    wait_until(lambda: side.json("cluster reassign"), "the move to be listed")
    listed = kafkas(side, TOOL, "--bootstrap-server", "BROKER", "--list").out
    assert side.run("cluster reassign", "--list") == listed
    assert "moving-0: replicas: 2,1. adding: 2. removing: 1." in listed
    assert side.json("cluster reassign") == [
        {"topic": "moving", "partition": 0, "replicas": [2, 1], "adding": [2], "removing": [1]}
    ]
    assert state(side, file) == "moving"
    refused = side.attempt("cluster reassign", "execute", file)
    assert refused.code == 1
    assert "moving-0 is being moved: wait for it, or add to it with --additional" in refused.err
    cancelled = side.run("cluster reassign", "cancel", file)
    assert "Successfully cancelled partition reassignment for: moving-0" in cancelled
    assert "Clearing broker-level throttles on brokers 1,2" in cancelled
    wait_until(lambda: state(side, file) == "elsewhere", "the end of the move")
    told = side.run("cluster reassign", "verify", file)
    assert "but replica set is 1 rather than 2." in told
    assert told == kafkas(side, TOOL, "--bootstrap-server", "BROKER", "--verify", "--reassignment-json-file", file).out
    side.run("cluster reassign", "execute", file, "--throttle", "100000000")
    wait_until(lambda: state(side, file) == "completed", "the partition to have moved")
    assert "Reassignment of partition moving-0 is completed." in side.run("cluster reassign", "verify", file)
    assert leaders(side)["moving-0"] == 2


def leaders(side: Side) -> dict[str, int]:
    """Of the partitions that have one."""
    with Cluster([Address(side.broker.host, side.broker.port)], ClientProperties(), PATIENCE_S) as cluster:
        topics = cluster.topics().items()
    found = {f"{name}-{each.partition_index}": each.leader_id for name, topic in topics for each in topic.partitions}
    return {name: leader for name, leader in found.items() if leader >= 0}


def test_proposals_use_the_brokers_that_are_named(side: Side, kafka_tools: ToolRunner, tmp_path: Path) -> None:
    create(side, "spread", "1,1,1,1")
    told = side.json("cluster reassign", "generate", "spread", "--broker-list", "1,2")
    placed = [each["replicas"] for each in told["proposed"]["partitions"]]
    assert sorted(map(tuple, placed)) == [(1,), (1,), (2,), (2,)]
    told = side.json("cluster reassign", "generate", "spread", "--broker-list", "2")
    assert {tuple(each["replicas"]) for each in told["proposed"]["partitions"]} == {(2,)}
    topics = tmp_path / "topics.json"
    topics.write_text('{"topics": [{"topic": "spread"}]}')
    flags = ["--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "2"]

    def told_by_kafkas_tool() -> str:
        return Kafkas(kafka_tools)(side, TOOL, "--bootstrap-server", "BROKER", *flags).out

    # A broker says where a new replica lies when it has made it.
    wait_until(lambda: '"log_dirs":["any"]' not in told_by_kafkas_tool().split("\n")[1], "the directories to be known")
    assert side.run("cluster reassign", *flags) == told_by_kafkas_tool()
    refused = side.attempt("cluster reassign", "generate", "spread", "--broker-list", "7")
    assert refused.code == 1
    assert "no broker is in service" in refused.err


def test_the_preferred_leader_leads_again(side: Side, tmp_path: Path) -> None:
    create(side, "led", "1:2")
    file = plan(tmp_path / "plan.json", "led", 2, 1)
    side.run("cluster reassign", "execute", file)
    wait_until(lambda: state(side, file) == "completed", "the order of the replicas")
    assert leaders(side)["led-0"] == 1
    told = side.run("cluster elect", "preferred", "--topic", "led", "--partition", "0")
    assert told == "Successfully completed leader election (PREFERRED) for partitions led-0\n"
    wait_until(lambda: leaders(side)["led-0"] == 2, "the second to lead")
    assert side.json("cluster elect", "preferred", "--topic", "led", "--partition", "0")["already_led"] == ["led-0"]


def test_a_broker_that_is_gone(side: Side, brokers: list[KafkaBroker], kafka_tools: ToolRunner) -> None:
    """The last, since it does not come back."""
    create(side, "alone", "2")
    create(side, "both", "2:1")
    assert side.run("doctor").endswith((".\n", "say.\n"))
    told = side.json("cluster")
    assert [each["id"] for each in told["brokers"]] == [1, 2]
    brokers[1].stop()

    def gone() -> dict[str, Any]:
        found: dict[str, Any] = side.json("cluster")
        return found if "alone-0" in found["without_leader"] else {}

    wait_until(gone, "the cluster to know of it")
    told = side.json("cluster")
    assert "both-0" in told["under_replicated"]
    assert {each["id"]: each["fenced"] for each in told["brokers"]} == {1: False, 2: True}
    text = side.run("cluster")
    assert "fenced" in text
    kafkas = Kafkas(kafka_tools)
    flags = ["--include-fenced-brokers"]
    theirs = kafkas(side, "ClusterTool", "list-endpoints", "-b", "BROKER", *flags).out
    assert side.run("cluster endpoints", *flags) == theirs
    examined = side.attempt("doctor", "--json")
    assert examined.code == 1
    failed = {each["what"]: each["found"] for each in json.loads(examined.out)["checks"] if each["state"] != "ok"}
    assert "alone-0" in failed["leaders"]
    assert "both-0" in failed["replicas"]
    refused = side.attempt("cluster elect", "unclean", "--topic", "alone", "--partition", "0")
    assert refused.code == 1
    assert "Error completing leader election (UNCLEAN) for partition: alone-0: ELIGIBLE_LEADERS_NOT_AVAILABLE" in (
        refused.out
    )
    assert side.run("cluster unregister", "--id", "2") == "Broker 2 is no longer registered.\n"
    wait_until(lambda: len(side.json("cluster endpoints", *flags)) == 1, "the broker to be forgotten")
