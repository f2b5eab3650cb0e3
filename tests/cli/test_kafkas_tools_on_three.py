"""Kafka's own tools on each kind of cluster: what an administrator does, by the tools that he has had for years.

Those that tell of brokers that are away, compare replicas and describe the quorum are in test_three_brokers.py.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kafkas_tool import Kafkas
from tests.cli.test_three_brokers import LARGE, written
from tests.cli.three import Three, produce
from tests.clients.waiting import wait_until
from tests.kafka.tool_runner import ToolRunner

pytestmark = [pytest.mark.java, pytest.mark.slow]

IDS = (1, 2, 3)


class Tools:
    def __init__(self, three: Three, kafkas: Kafkas) -> None:
        self._three = three
        self._kafkas = kafkas

    def __call__(self, tool: str, *arguments: str, code: int = 0) -> str:
        ran = self._kafkas(self._three.side, tool, "--bootstrap-server", "BROKER", *arguments)
        assert ran.code == code, ran
        return ran.out

    def topics(self, *arguments: str, code: int = 0) -> str:
        return self("TopicCommand", *arguments, code=code)

    def reassign(self, *arguments: str) -> str:
        return self("reassign.ReassignPartitionsCommand", *arguments)

    def cluster(self, what: str) -> str:
        """It wants to know first what it is to do."""
        ran = self._kafkas(self._three.side, "ClusterTool", what, "--bootstrap-server", "BROKER")
        assert ran.code == 0, ran
        return ran.out

    def features(self) -> dict[str, tuple[str, str, str]]:
        """Lowest, highest, finalized."""
        found = re.findall(
            r"Feature: (\S+)\s+SupportedMinVersion: (\S+)\s+SupportedMaxVersion: (\S+)\s+FinalizedVersionLevel: (\S+)",
            self("FeatureCommand", "describe"),
        )
        return {name: (lowest, highest, finalized) for name, lowest, highest, finalized in found}


@pytest.fixture
def tools(three: Three, kafka_tools: ToolRunner) -> Tools:
    return Tools(three, Kafkas(kafka_tools))


def test_a_topic_from_its_making_to_its_end(three: Three, tools: Tools, name: str) -> None:
    create = ("--create", "--topic", name, "--partitions", "3", "--replication-factor", "3")
    assert f"Created topic {name}.\n" in tools.topics(*create, "--config", "min.insync.replicas=2")
    three.wait_led(name, 3)
    assert f"Topic '{name}' already exists" in tools.topics(*create, code=1)
    too_many = ("--create", "--topic", f"{name}-4", "--partitions", "1", "--replication-factor", "4")
    assert "Error while executing topic command : " in tools.topics(*too_many, code=1)
    for number in range(3):
        produce(three.side.bootstrap, name, b"one", b"two", partition=number)
    first, *rest = tools.topics("--describe", "--topic", name).splitlines()
    assert re.fullmatch(
        rf"Topic: {name}\tTopicId: \S{{22}}\tPartitionCount: 3\tReplicationFactor: 3\tConfigs: min.insync.replicas=2",
        first,
    )
    for number, line in enumerate(rest):
        told = dict(part.split(": ", 1) for part in line.strip().split("\t") if ": " in part)
        assert (told["Partition"], told["Leader"]) == (str(number), told["Replicas"].split(",")[0])
        assert sorted(told["Replicas"].split(",")) == sorted(told["Isr"].split(",")) == ["1", "2", "3"]

    def sizes() -> dict[int, dict[str, Any]]:
        told = tools("LogDirsCommand", "--describe", "--topic-list", name)
        assert "Received log directory information from brokers 1,2,3\n" in told
        found = {}
        for broker in json.loads(told.splitlines()[2])["brokers"]:
            (directory,) = broker["logDirs"]
            assert directory["error"] is None
            assert directory["logDir"] == str(three.nodes[broker["broker"]].data_directory)
            found[broker["broker"]] = {
                each["partition"]: (each["size"], each["offsetLag"], each["isFuture"])
                for each in directory["partitions"]
            }
        return found

    everything = {f"{name}-{number}": (81, 0, False) for number in range(3)}
    wait_until(lambda: sizes() == dict.fromkeys(IDS, everything), lambda: f"all to have all: {sizes()}")
    tools.topics("--alter", "--topic", name, "--partitions", "4")
    three.wait_led(name, 4)
    assert "PartitionCount: 4" in tools.topics("--describe", "--topic", name)
    tools.topics("--delete", "--topic", name)
    wait_until(lambda: name not in tools.topics("--list").split(), "it to be gone")


def test_replicas_are_moved(three: Three, tools: Tools, name: str, tmp_path: Path) -> None:
    three.create(name, "1:2,2:1")
    for number in (0, 1):
        for _ in range(4):
            produce(three.side.bootstrap, name, LARGE, partition=number)
    there = written(tmp_path / "plan.json", name, [1, 3], [3, 1])
    both = f"{name}-0,{name}-1"
    slowly = tools.reassign("--execute", "--reassignment-json-file", there, "--throttle", "1000")
    assert "The inter-broker throttle limit was set to 1000 B/s\n" in slowly
    assert f"Successfully started partition reassignments for {both}\n" in slowly
    under_way = f"Reassignment of partition {name}-0 is still in progress.\n"
    assert under_way in tools.reassign("--verify", "--reassignment-json-file", there)
    listed = tools.reassign("--list")
    assert f"{name}-0: replicas: 1,3,2. adding: 3. removing: 2.\n" in listed
    assert f"{name}-1: replicas: 3,1,2. adding: 3. removing: 2.\n" in listed
    cancelled = tools.reassign("--cancel", "--reassignment-json-file", there)
    assert f"Successfully cancelled partition reassignments for: {both}\n" in cancelled
    # Without those that were to be added; in which order the rest stood before is forgotten.
    assert [list(each.replicas) for each in three.partitions(name)] == [[1, 2], [1, 2]]
    assert tools.reassign("--list") == "No partition reassignments found.\n"

    tools.reassign("--execute", "--reassignment-json-file", there)
    done = [f"Reassignment of partition {name}-{number} is completed.\n" for number in (0, 1)]

    def is_done() -> bool:
        told = tools.reassign("--verify", "--reassignment-json-file", there)
        return all(line in told for line in done)

    wait_until(is_done, "both to be moved")
    assert [list(each.replicas) for each in three.partitions(name)] == [[1, 3], [3, 1]]
    assert [set(each.isr) for each in three.partitions(name)] == [{1, 3}, {1, 3}]


def test_leadership_is_given_back(three: Three, tools: Tools, name: str) -> None:
    three.create(name, "3:1,3:2")
    three.stop(3)
    wait_until(lambda: three.leaders(name) == [1, 2], "others to lead")
    three.start(3)
    wait_until(lambda: all(three.in_sync(name, number) >= {3} for number in (0, 1)), "3 to be in sync")
    told = tools("LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions")
    line = re.search(r"Successfully completed leader election \(PREFERRED\) for partitions (.*)", told)
    assert line is not None, told
    assert {f"{name}-0", f"{name}-1"} <= set(line[1].split(", "))
    wait_until(lambda: three.leaders(name) == [3, 3], "3 to lead")


def test_features_are_described_and_changed(tools: Tools) -> None:
    assert tools.features() == {
        "eligible.leader.replicas.version": ("0", "1", "1"),
        "group.version": ("0", "1", "1"),
        "kraft.version": ("0", "1", "1"),
        "metadata.version": ("3.3-IV3", "4.3-IV0", "4.3-IV0"),
        "share.version": ("0", "1", "1"),
        "streams.version": ("0", "1", "1"),
        "transaction.version": ("0", "2", "2"),
    }
    of_streams = ("--feature", "streams.version=0")
    assert tools("FeatureCommand", "downgrade", *of_streams, "--dry-run") == (
        "streams.version can be downgraded to 0.\n"
    )
    assert tools("FeatureCommand", "downgrade", *of_streams) == "streams.version was downgraded to 0.\n"
    wait_until(lambda: tools.features()["streams.version"] == ("0", "1", "0"), "all brokers to know")
    assert tools("FeatureCommand", "upgrade", "--feature", "streams.version=1") == (
        "streams.version was upgraded to 1.\n"
    )
    wait_until(lambda: tools.features()["streams.version"] == ("0", "1", "1"), "all brokers to know")
    refused = tools("FeatureCommand", "upgrade", "--feature", "metadata.version=99", code=1)
    assert refused.startswith("Could not upgrade metadata.version to 99. ")


def test_the_cluster_says_who_it_is(three: Three, tools: Tools) -> None:
    quorum = tools("MetadataQuorumCommand", "describe", "--status")
    assert re.search(rf"^LeaderId: +{three.controller}$", quorum, re.MULTILINE)
    said = re.search(r"^ClusterId: +(\S+)$", quorum, re.MULTILINE)
    assert said is not None
    assert tools.cluster("cluster-id") == f"Cluster ID: {said[1]}\n"
    endpoints = tools.cluster("list-endpoints").splitlines()
    assert sorted(line.split()[:4] for line in endpoints[1:]) == [
        [str(number), three.nodes[number].host, str(three.nodes[number].port), f"rack-{number}"] for number in IDS
    ]
