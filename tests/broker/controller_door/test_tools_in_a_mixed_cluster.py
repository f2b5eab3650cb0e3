"""Kafka's own tools in a cluster of Kafka's brokers and our controller, asked at either of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.controller_door.kafka_cluster import KafkaCluster
from tests.clients.waiting import wait_until
from tests.kafka.tool_runner import ToolRunner

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOOLS = "org.apache.kafka.tools"
QUORUM, CLUSTER, FEATURES = f"{TOOLS}.MetadataQuorumCommand", f"{TOOLS}.ClusterTool", f"{TOOLS}.FeatureCommand"
ELECTIONS, TOPICS = f"{TOOLS}.LeaderElectionCommand", f"{TOOLS}.TopicCommand"
REASSIGNMENTS = f"{TOOLS}.reassign.ReassignPartitionsCommand"
CONFIGS, DUMP = "kafka.admin.ConfigCommand", f"{TOOLS}.DumpLogSegments"


@pytest.fixture(scope="module")
def cluster(kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    with KafkaCluster(kafka_classpath, tmp_path_factory.mktemp("mixed")) as made:
        for broker_id in (2, 3, 4):
            made.broker(broker_id)
        yield made


@pytest.fixture(params=["--bootstrap-server", "--bootstrap-controller"])
def where(request: pytest.FixtureRequest, cluster: KafkaCluster) -> list[str]:
    """At a broker of Kafka's, and at our controller's door."""
    at_broker = request.param == "--bootstrap-server"
    return [request.param, cluster.bootstrap if at_broker else cluster.node.controllers]


def test_the_quorum_and_who_follows_it(cluster: KafkaCluster, kafka_tools: ToolRunner, where: list[str]) -> None:
    status = kafka_tools.run(QUORUM, *where, "describe", "--status")
    found = dict(line.split(":", 1) for line in status.splitlines() if line)
    assert found["LeaderId"].strip() == "1"
    (voter,) = json.loads(found["CurrentVoters"])
    assert voter["endpoints"] == [f"CONTROLLER://{cluster.node.controllers}"]
    assert {each["id"] for each in json.loads(found["CurrentObservers"])} == {2, 3, 4}
    replication = kafka_tools.run(QUORUM, *where, "describe", "--replication")
    rows = [line.split() for line in replication.splitlines()[1:] if line]
    assert {(row[0], row[-1]) for row in rows} == {
        ("1", "Leader"), ("2", "Observer"), ("3", "Observer"), ("4", "Observer"),
    }  # fmt: skip


def test_the_only_voter_stays(kafka_tools: ToolRunner, where: list[str]) -> None:
    named = ("--controller-id", "1", "--controller-directory-id", "AAAAAAAAAAAAAAAAAAAAAQ")
    code, out, err = kafka_tools.attempt(QUORUM, *where, "remove-controller", *named)
    assert code == 1
    assert "is the only voter, and stays it" in out + err


def test_the_cluster(cluster: KafkaCluster, kafka_tools: ToolRunner, where: list[str]) -> None:
    cluster_id = cluster.node.do(lambda node: node.cluster_id)
    assert kafka_tools.run(CLUSTER, "cluster-id", *where) == f"Cluster ID: {cluster_id}\n"
    listed = [line.split()[:3] for line in kafka_tools.run(CLUSTER, "list-endpoints", *where).splitlines()[1:]]
    if where[0] == "--bootstrap-controller":
        assert listed == [["1", *cluster.node.controllers.split(":")]]
    else:
        assert [each[0] for each in listed if each] == ["1", "2", "3", "4"]
    code, out, err = kafka_tools.attempt(CLUSTER, "unregister", *where, "--id", "99")
    assert code == 1
    assert "Broker 99 is not registered" in out + err


def test_features(kafka_tools: ToolRunner, where: list[str]) -> None:
    assert "metadata.version" in kafka_tools.run(FEATURES, *where, "describe")
    lower = kafka_tools.run(FEATURES, *where, "downgrade", "--feature", "group.version=0")
    assert lower == "group.version was downgraded to 0.\n"
    higher = kafka_tools.run(FEATURES, *where, "upgrade", "--feature", "group.version=1")
    assert higher == "group.version was upgraded to 1.\n"
    code, out, err = kafka_tools.attempt(FEATURES, *where, "upgrade", "--feature", "group.version=7")
    assert code == 1
    assert "Could not upgrade group.version to 7" in out + err


def test_configurations(cluster: KafkaCluster, kafka_tools: ToolRunner, where: list[str]) -> None:
    topic = f"configured-{where[0].strip('-')}"
    with cluster.client(2) as client:
        cluster.create(client, topic, [2])
    named = ("--entity-type", "topics", "--entity-name", topic)
    kafka_tools.run(CONFIGS, *where, "--alter", *named, "--add-config", "retention.ms=77777")
    server = ("--bootstrap-server", cluster.bootstrap)
    wait_until(
        lambda: "retention.ms=77777" in kafka_tools.run(CONFIGS, *server, "--describe", *named), "brokers to know it"
    )
    every = ("--entity-type", "brokers", "--entity-default")
    kafka_tools.run(CONFIGS, *where, "--alter", *every, "--add-config", "log.cleaner.threads=2")
    wait_until(
        lambda: "log.cleaner.threads=2" in kafka_tools.run(CONFIGS, *where, "--describe", *every), "all to know it"
    )
    kafka_tools.run(CONFIGS, *where, "--alter", *every, "--delete-config", "log.cleaner.threads")


def test_partitions_move_and_are_led_by_whom_they_should(
    cluster: KafkaCluster, kafka_tools: ToolRunner, tmp_path: Path
) -> None:
    server = ("--bootstrap-server", cluster.bootstrap)
    with cluster.client(2) as client:
        cluster.create(client, "moved", [2, 3], [3, 2])
    plan = tmp_path / "plan.json"
    wanted = [
        {"topic": "moved", "partition": 0, "replicas": [4, 3]},
        {"topic": "moved", "partition": 1, "replicas": [2, 4, 3]},
    ]
    plan.write_text(json.dumps({"version": 1, "partitions": wanted}))
    named = ("--reassignment-json-file", str(plan))
    began = kafka_tools.run(REASSIGNMENTS, *server, "--execute", *named, "--throttle", "50000000")
    assert "Successfully started partition reassignments for moved-0,moved-1" in began
    cluster.until_in_sync("moved", 0, 4, 3)
    cluster.until_in_sync("moved", 1, 2, 3, 4)
    verified = kafka_tools.run(REASSIGNMENTS, *server, "--verify", *named)
    assert "Reassignment of partition moved-0 is completed." in verified
    assert "Reassignment of partition moved-1 is completed." in verified
    assert "Clearing topic-level throttles on topic moved" in verified
    assert cluster.partition("moved", 0).replicas == (4, 3)
    assert cluster.partition("moved", 1).leader == 3, "who led it goes on"
    kafka_tools.run(ELECTIONS, *server, "--election-type", "preferred", "--topic", "moved", "--partition", "1")
    assert cluster.partition("moved", 1).leader == 2
    controller = ("--bootstrap-controller", cluster.node.controllers)
    assert "No partition reassignments found" in kafka_tools.run(REASSIGNMENTS, *controller, "--list")


def test_topics(cluster: KafkaCluster, kafka_tools: ToolRunner) -> None:
    server = ("--bootstrap-server", cluster.bootstrap)
    make = ("--create", "--topic", "made", "--partitions", "6", "--replication-factor", "3")
    kafka_tools.run(TOPICS, *server, *make)
    for number in range(6):
        assert set(cluster.partition("made", number).replicas) == {2, 3, 4}, "our node is cordoned"
    kafka_tools.run(TOPICS, *server, "--alter", "--topic", "made", "--partitions", "7")
    wait_until(
        lambda: (
            "PartitionCount: 7\tReplicationFactor: 3"
            in kafka_tools.run(TOPICS, *server, "--describe", "--topic", "made")
        ),
        "any broker that is asked to know of the seventh",
    )
    kafka_tools.run(TOPICS, *server, "--delete", "--topic", "made")
    cluster.until(lambda node: "made" not in node.image.topics.by_name)


def test_the_log_of_the_controller_is_kafkas(cluster: KafkaCluster, kafka_tools: ToolRunner) -> None:
    with cluster.client(3) as client:
        cluster.create(client, "dumped", [3, 4])
    cluster.node.carry_out(lambda node: node.metadata_upkeep.take_snapshot())
    directory = cluster.node.directory / "__cluster_metadata-0"
    files = [*directory.glob("*.log"), *directory.glob("*-*.checkpoint")]
    assert len(files) > 2
    for file in files:
        dumped = kafka_tools.run(DUMP, "--cluster-metadata-decoder", "--files", str(file))
        assert "isvalid: true" in dumped
        assert "Found" not in dumped
        if file.suffix == ".log":
            for kind in ("REGISTER_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD", "PARTITION_RECORD"):
                assert f'"type":"{kind}"' in dumped
