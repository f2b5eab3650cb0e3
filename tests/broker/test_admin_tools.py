"""Kafka's own tools, as an operator calls them, against a node of ours: what they print is right."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kafka.tool_runner import ToolRunner

from .running import RunningNode

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOOLS = "org.apache.kafka.tools"
TOPICS, CONFIGS = f"{TOOLS}.TopicCommand", "kafka.admin.ConfigCommand"

Tool = Callable[..., str]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    home = tmp_path_factory.mktemp("node")
    with RunningNode(home, log_dirs=f"{home / 'data'},{home / 'other'}") as node:
        yield node


@pytest.fixture
def tool(shared: RunningNode, kafka_tools: ToolRunner) -> Tool:
    return lambda main, *arguments: kafka_tools.run(main, "--bootstrap-server", shared.bootstrap, *arguments)


def test_topics(tool: Tool) -> None:
    create = ("--create", "--topic", "orders", "--partitions", "2", "--replication-factor", "1")
    assert tool(TOPICS, *create, "--config", "retention.ms=5000") == "Created topic orders.\n"
    assert "orders" in tool(TOPICS, "--list").splitlines()
    tool(TOPICS, "--alter", "--topic", "orders", "--partitions", "3")
    head, *partitions = tool(TOPICS, "--describe", "--topic", "orders").splitlines()
    assert "PartitionCount: 3\tReplicationFactor: 1" in head
    assert "retention.ms=5000" in head
    assert [line.split("\t")[2:6] for line in partitions] == [
        [f"Partition: {number}", "Leader: 1", "Replicas: 1", "Isr: 1"] for number in range(3)
    ]
    offsets = tool(f"{TOOLS}.GetOffsetShell", "--topic", "orders")
    assert offsets.splitlines() == ["orders:0:0", "orders:1:0", "orders:2:0"]
    assert "already has the leader" not in tool(
        f"{TOOLS}.LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions"
    )
    tool(TOPICS, "--delete", "--topic", "orders")
    assert "orders" not in tool(TOPICS, "--list").splitlines()


@pytest.mark.parametrize(
    ("entity", "setting", "shown"),
    [
        (("--entity-type", "topics", "--entity-name", "configured"), "retention.ms=1234", "DYNAMIC_TOPIC_CONFIG"),
        (("--entity-type", "brokers", "--entity-name", "1"), "log.retention.ms=4321", "DYNAMIC_BROKER_CONFIG"),
        (("--entity-type", "brokers", "--entity-default"), "log.segment.bytes=2000000", "DYNAMIC_DEFAULT_BROKER"),
        (("--entity-type", "client-metrics", "--entity-name", "m"), "interval.ms=1000", "DYNAMIC_CLIENT_METRICS"),
        (("--entity-type", "broker-loggers", "--entity-name", "1"), "root=ERROR", "root=ERROR"),
    ],
)
def test_configurations(tool: Tool, entity: tuple[str, ...], setting: str, shown: str) -> None:
    if "topics" in entity:
        tool(TOPICS, "--create", "--topic", "configured", "--if-not-exists")
    assert "Completed updating" in tool(CONFIGS, *entity, "--alter", "--add-config", setting)
    described = tool(CONFIGS, *entity, "--describe")
    assert setting in described
    assert shown in described


def test_logs_move_and_shrink(tool: Tool, shared: RunningNode, tmp_path: Path) -> None:
    tool(TOPICS, "--create", "--topic", "moving", "--partitions", "1")
    told = tool(f"{TOOLS}.LogDirsCommand", "--describe", "--topic-list", "moving").splitlines()[-1]
    (broker,) = json.loads(told)["brokers"]
    holding = {one["logDir"]: [each["partition"] for each in one["partitions"]] for one in broker["logDirs"]}
    assert sorted(holding) == [str(shared.directory / name) for name in ("data", "other")]
    (empty,) = [directory for directory, partitions in holding.items() if not partitions]
    plan = tmp_path / "plan.json"
    assignment = {"topic": "moving", "partition": 0, "replicas": [1], "log_dirs": [empty]}
    plan.write_text(json.dumps({"version": 1, "partitions": [assignment]}))
    reassign = f"{TOOLS}.reassign.ReassignPartitionsCommand"
    started = tool(reassign, "--reassignment-json-file", str(plan), "--execute")
    assert f"Successfully started moving log directory to {empty} for replica moving-0 with broker 1" in started
    verified = tool(reassign, "--reassignment-json-file", str(plan), "--verify")
    assert "Reassignment of replica moving-0-1 completed successfully." in verified
    assert tool(reassign, "--list") == "No partition reassignments found.\n"
    offsets = tmp_path / "offsets.json"
    offsets.write_text(json.dumps({"version": 1, "partitions": [{"topic": "moving", "partition": 0, "offset": -1}]}))
    deleted = tool(f"{TOOLS}.DeleteRecordsCommand", "--offset-json-file", str(offsets))
    assert "partition: moving-0\tlow_watermark: 0" in deleted


def test_the_cluster(tool: Tool, shared: RunningNode, kafka_tools: ToolRunner) -> None:
    node = shared.node
    assert node is not None
    # This one wants its command in front.
    for command, expected in (("cluster-id", f"Cluster ID: {node.cluster_id}"), ("list-endpoints", "unfenced")):
        assert expected in kafka_tools.run(f"{TOOLS}.ClusterTool", command, "--bootstrap-server", shared.bootstrap)
    features = {
        line.split()[1]: line.split("FinalizedVersionLevel: ")[1].split()[0]
        for line in tool(f"{TOOLS}.FeatureCommand", "describe").splitlines()
    }
    assert features["metadata.version"] == "4.3-IV0"
    assert features["kraft.version"] == "1"
    status = tool(f"{TOOLS}.MetadataQuorumCommand", "describe", "--status")
    assert f"ClusterId:              {node.cluster_id}" in status
    assert "LeaderId:               1\n" in status
    assert "MaxFollowerLag:         0\n" in status
    replication = tool(f"{TOOLS}.MetadataQuorumCommand", "describe", "--replication").splitlines()
    assert len(replication) == 2
    assert replication[1].split()[-1] == "Leader"
