"""`barnabas cluster`: on a broker of ours and on Apache Kafka, beside Kafka's own tools."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from barnabas.cli.cluster.api_versions import line_of
from barnabas.client.cluster import Partition
from tests.cli.beside import Both, Side, run
from tests.cli.kafkas_tool import Kafkas, same_lines
from tests.cli.terminals import PATIENCE_S, read_until, typed_into
from tests.client.fake_servers import closed_port
from tests.kafka.tool_runner import ToolRunner

pytestmark = pytest.mark.slow


@pytest.fixture
def kafkas(kafka_tools: ToolRunner) -> Kafkas:
    return Kafkas(kafka_tools)


# At a glance


@pytest.mark.java
def test_info_has_the_same_of_both(both: Both, name: str) -> None:
    both.create(name, 2)
    ours, kafka = (side.json("cluster info") for side in both)
    assert list(ours) == list(kafka)
    for one in (ours, kafka):
        (broker,) = one["brokers"]
        assert broker["id"] == one["controller_id"] == 1
        assert broker["fenced"] is False
        assert broker["leads"] == broker["replicas"] == one["partitions"] >= 2
        assert "PLAINTEXT://" in broker["listeners"]
        assert one["under_replicated"] == one["without_leader"] == []
        assert broker["apis"] > 40
    for key in ("metadata_version", "features"):
        assert ours[key] == kafka[key]


def test_info_for_people(side: Side) -> None:
    told = side.run("cluster")
    assert re.search(r"^cluster id +\S{22}$", told, re.MULTILINE)
    assert re.search(r"^under replicated +none$", told, re.MULTILINE)
    head, row = told.splitlines()[-2:]
    assert head.split() == ["ID", "ADDRESS", "RACK", "STATE", "LEADS", "REPLICAS", "APIS", "LISTENERS"]
    assert row.split()[:3] == ["1", side.bootstrap, "-"]


# kafka-cluster.sh


@pytest.mark.java
def test_the_id_and_the_endpoints(both: Both, kafkas: Kafkas) -> None:
    for side in both:
        theirs = kafkas(side, "ClusterTool", "cluster-id", "--bootstrap-server", "BROKER").out
        assert side.run("kafka-cluster.sh cluster-id") == side.run("cluster id") == theirs
        assert theirs == f"Cluster ID: {side.json('cluster id')['cluster_id']}\n"
        for flags in ([], ["--include-fenced-brokers"]):
            theirs = kafkas(side, "ClusterTool", "list-endpoints", "-b", "BROKER", *flags).out
            assert side.run("kafka-cluster.sh list-endpoints", *flags) == theirs
        (endpoint,) = side.json("cluster endpoints")
        assert endpoint == {
            "id": 1,
            "host": side.broker.host,
            "port": side.broker.port,
            "rack": None,
            "type": "broker",
            "fenced": False,
        }


@pytest.mark.java
def test_endpoints_of_controllers(kafka: Side, kafkas: Kafkas) -> None:
    port = kafka.broker.controller_port  # type: ignore[attr-defined]
    controller = f"127.0.0.1:{port}"
    for action in ("list-endpoints", "cluster-id"):
        theirs = kafkas(kafka, "ClusterTool", action, "--bootstrap-controller", controller)
        assert run("cluster", action, "-C", controller).out == theirs.out
    refused = run("cluster", "endpoints", "-C", controller, "--include-fenced-brokers")
    assert refused.code == 2
    assert "--bootstrap-server only" in refused.err
    both_ways = run("cluster", "endpoints", "-C", controller, "-b", kafka.bootstrap)
    assert both_ways.code == 2
    assert "exclude each other" in both_ways.err


def test_a_broker_that_is_not_registered_cannot_be_forgotten(side: Side) -> None:
    for arguments in (["--id", "77"], ["77"], ["-i", "77", "--yes"]):
        refused = side.attempt("cluster unregister", *arguments)
        assert refused.code == 1
        assert "77" in refused.err
        assert refused.err.endswith("[BROKER_ID_NOT_REGISTERED].\n")
    assert side.attempt("cluster unregister").code == 2


# kafka-broker-api-versions.sh


@pytest.mark.java
def test_api_versions_are_told_as_by_kafkas_tool(both: Both, kafkas: Kafkas) -> None:
    for side in both:
        theirs = kafkas(side, "BrokerApiVersionsCommand", "--bootstrap-server", "BROKER").out
        assert side.run("kafka-broker-api-versions.sh") == theirs
        (broker,) = side.json("cluster api-versions")
        produce = broker["apis"][0]
        assert produce == {"key": 0, "name": "Produce", "min_version": 0, "max_version": 13, "usable": 13}


def test_lines_of_odd_brokers() -> None:
    assert line_of(9999, (2, 3)) == "UNKNOWN(9999): 2 to 3"
    assert line_of(3, (99, 100)) == "Metadata(3): 99 to 100 [unusable: node too new]"
    assert line_of(1, (0, 1)) == "Fetch(1): 0 to 1 [unusable: node too old]"
    assert line_of(60, None) == "DescribeCluster(60): UNSUPPORTED"


# kafka-features.sh


@pytest.mark.java
def test_features_are_described_as_by_kafkas_tool(both: Both, kafkas: Kafkas) -> None:
    for side in both:
        for flags in ([], ["--node-id", "1"]):
            theirs = kafkas(side, "FeatureCommand", "--bootstrap-server", "BROKER", "describe", *flags).out
            ours = side.run("kafka-features.sh", "describe", *flags)
            # The epoch goes on with the cluster.
            assert re.sub(r"Epoch: \d+", "", ours) == re.sub(r"Epoch: \d+", "", theirs)
    both.same("cluster features", but={"epoch"})


@pytest.mark.java
@pytest.mark.parametrize(
    "arguments",
    [
        ["version-mapping"],
        *(
            ["version-mapping", "--release-version", text]
            for text in ("3.3-IV3", "3.9", "4.0", "4.1.0", "4.2-IV0", "4.4")
        ),
        ["feature-dependencies", "--feature", "eligible.leader.replicas.version=1"],
        ["feature-dependencies", "--feature", "metadata.version=7", "--feature", "group.version=0"],
    ],
)
def test_tables_of_features(kafka: Side, kafkas: Kafkas, arguments: list[str]) -> None:
    theirs = kafkas(kafka, "FeatureCommand", "--bootstrap-server", "BROKER", *arguments)
    ours = run("cluster", "features", *arguments)
    assert (ours.code, ours.out) == (theirs.code, theirs.out)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["version-mapping", "--release-version", "2.0"], 1, "Unknown metadata.version '2.0'. Supported"),
        (["feature-dependencies", "--feature", "x=1"], 1, "Unknown feature: x. There are metadata.version, kraft"),
        (["feature-dependencies", "--feature", "metadata.version=1"], 1, "Unknown metadata.version 1."),
        (["feature-dependencies", "--feature", "group.version=9"], 1, "it goes up to 1"),
        (["feature-dependencies"], 2, "--feature FEATURE=LEVEL"),
        (["upgrade"], 2, "name at least one feature to upgrade"),
        (["upgrade", "--feature", "x"], 2, "x is no feature with a level"),
        (["upgrade", "--feature", "x=a"], 2, "x=a is no feature with a level"),
        (["upgrade", "--feature", "x=1", "--feature", "x=2"], 2, "feature x is named more than once"),
        (["upgrade", "--release-version", "4.2", "--feature", "x=1"], 2, "--release-version names all levels"),
        (["describe", "--node-id", "-1"], 2, "--node-id -1 is negative"),
        (["upgarde"], 2, "is upgrade meant?"),
    ],
)
def test_features_that_cannot_be_meant(arguments: list[str], code: int, words: str) -> None:
    refused = run("cluster", "features", *arguments)
    assert refused.code == code
    assert words in refused.err


@pytest.mark.java
@pytest.mark.parametrize(
    "arguments",
    [
        ["upgrade", "--feature", "metadata.version=30", "--dry-run"],
        ["upgrade", "--feature", "metadata.version=7", "--dry-run"],
        ["upgrade", "--release-version", "4.2", "--dry-run"],
        ["downgrade", "--feature", "group.version=0", "--dry-run"],
        ["downgrade", "--feature", "metadata.version=29", "--unsafe", "--dry-run"],
        ["disable", "--feature", "group.version", "--dry-run"],
        ["disable", "--feature", "no.such.feature", "--dry-run"],
    ],
)
def test_updates_of_features_end_as_with_kafkas_tool(both: Both, kafkas: Kafkas, arguments: list[str]) -> None:
    for side in both:
        theirs = kafkas(side, "FeatureCommand", "--bootstrap-server", "BROKER", *arguments)
        ours = side.attempt("cluster features", *arguments)
        assert ours.code == theirs.code
        # Why not is said by the broker; the tools' own words are before it.
        assert [line.partition(". ")[0] for line in ours.out.splitlines()] == [
            line.partition(". ")[0] for line in theirs.out.splitlines()
        ]


@pytest.mark.java
def test_a_feature_goes_down_and_up_again(both: Both) -> None:
    for side in both:
        assert side.run("cluster features", "disable", "share.version") == "share.version was disabled.\n"
        levels = {each["feature"]: each["finalized"] for each in side.json("cluster features")}
        assert levels["share.version"] == 0
        assert side.run("cluster features", "upgrade", "share.version=1") == "share.version was upgraded to 1.\n"
        assert side.json("cluster features", "upgrade", "share.version=1") == [
            {"feature": "share.version", "level": 1, "error": None}
        ]


# kafka-metadata-quorum.sh


def plain(text: str) -> str:
    """Without what changes from one moment to the next, and from one cluster to the other."""
    text = re.sub(r"(HighWatermark:|MaxFollowerLag\w*:) +-?\d+", r"\1", text)
    text = re.sub(r"\d+ ms ago|\d{13}", "MOMENT", text)
    return re.sub(r"[ \t]+", " ", text)


@pytest.mark.java
def test_the_quorum_is_described_as_by_kafkas_tool(both: Both, kafkas: Kafkas) -> None:
    for side in both:
        for flags in (["--status"], ["--replication"], ["--replication", "--human-readable"]):
            theirs = kafkas(side, "MetadataQuorumCommand", "--bootstrap-server", "BROKER", "describe", *flags).out
            ours = side.run("kafka-metadata-quorum.sh describe", *flags)
            assert without_offsets(plain(ours)) == without_offsets(plain(theirs))
            assert ours.splitlines()[0] == theirs.splitlines()[0] or "MOMENT" in plain(theirs)
    told = both.same(
        "cluster quorum",
        but={"cluster_id", "directory_id", "high_watermark", "log_end_offset", "leader_epoch", "endpoints"}
        | {"last_fetch_ms", "last_caught_up_ms"},
    )
    assert [each["status"] for each in told["replicas"]] == ["leader"]


def without_offsets(text: str) -> str:
    return re.sub(r"(?m)^(\d+ \S{22}) \d+", r"\1", text)


@pytest.mark.java
def test_the_quorum_is_described_by_its_controllers(kafka: Side, kafkas: Kafkas) -> None:
    controller = f"127.0.0.1:{kafka.broker.controller_port}"  # type: ignore[attr-defined]
    theirs = kafkas(kafka, "MetadataQuorumCommand", "--bootstrap-controller", controller, "describe", "--status").out
    ours = run("cluster", "quorum", "--bootstrap-controller", controller).out
    assert plain(ours) == plain(theirs)
    for tool, arguments in (("FeatureCommand", ["describe"]), ("FeatureCommand", ["describe", "--node-id", "1"])):
        theirs = kafkas(kafka, tool, "--bootstrap-controller", controller, *arguments).out
        ours = run("cluster", "features", "--bootstrap-controller", controller, *arguments).out
        assert re.sub(r"Epoch: \d+", "", ours) == re.sub(r"Epoch: \d+", "", theirs)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["describe", "--status", "--replication"], "two questions"),
        (["describe", "--status", "--human-readable"], "--human-readable goes with --replication only"),
        (["describe", "leader"], "leader cannot be described"),
        (["add-controller"], "--command-config FILE"),
        (["remove-controller"], "--controller-id ID --controller-directory-id ID"),
        (["remove-controller", "-i", "-1", "-d", "A" * 22], "--controller-id -1 is negative"),
        (["remove-controller", "-i", "1", "-d", "no id"], "--controller-directory-id no id is no id"),
    ],
)
def test_a_quorum_that_cannot_be_meant(arguments: list[str], words: str) -> None:
    refused = run("cluster", "quorum", *arguments)
    assert refused.code == 2
    assert words in refused.err


@pytest.mark.java
def test_changes_of_the_quorum_are_said_as_by_kafkas_tool(kafka: Side, kafkas: Kafkas, tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "meta.properties").write_text(
        "version=1\ncluster.id=x\nnode.id=7\ndirectory.id=rG1sQzO8Q0eCkJ4GqzFv5A\n"
    )
    file = tmp_path / "controller.properties"
    file.write_text(
        f"node.id=7\nprocess.roles=controller\nlog.dirs={directory}\ncontroller.listener.names=controller\n"
        "listeners=CONTROLLER://:9093\nadvertised.listeners=CONTROLLER://[::1]:9093\n"
    )
    flags = ["--command-config", str(file), "add-controller", "--dry-run"]
    theirs = kafkas(kafka, "MetadataQuorumCommand", "--bootstrap-server", "BROKER", *flags).out
    assert kafka.run("cluster quorum", *flags) == theirs
    flags = ["remove-controller", "--dry-run", "-i", "7", "-d", "rG1sQzO8Q0eCkJ4GqzFv5A"]
    theirs = kafkas(kafka, "MetadataQuorumCommand", "--bootstrap-server", "BROKER", *flags).out
    assert kafka.run("cluster quorum", *flags) == theirs
    refused = kafka.attempt("cluster quorum", *(flag for flag in flags if flag != "--dry-run"))
    assert refused.code == 1
    assert "[VOTER_NOT_FOUND]" in refused.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "node.id is missing"),
        ("node.id=x", "node.id is x"),
        ("node.id=1", "process.roles names no controller"),
        ("node.id=1\nprocess.roles=controller", "Neither metadata.log.dir nor log.dirs is set"),
        ("node.id=1\nprocess.roles=controller\nlog.dirs=/nowhere", "/nowhere/meta.properties cannot be read"),
    ],
)
def test_a_file_that_is_no_controllers(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "controller.properties"
    file.write_text(text)
    refused = run("cluster", "quorum", "add-controller", "--command-config", str(file))
    assert refused.code == 1
    assert words in refused.err


# kafka-leader-election.sh


@pytest.mark.java
def test_elections_end_as_with_kafkas_tool(both: Both, kafkas: Kafkas, name: str, tmp_path: Path) -> None:
    both.create(name, 2)
    file = tmp_path / "partitions.json"
    rows = [{"topic": name, "partition": number} for number in (0, 1)]
    file.write_text(json.dumps({"partitions": rows}))
    for flags in (
        ["--election-type", "preferred", "--topic", name, "--partition", "0"],
        ["--election-type", "UNCLEAN", "--topic", name, "--partition", "1"],
        ["--election-type", "preferred", "--all-topic-partitions"],
        ["--election-type", "preferred", "--topic", name, "--partition", "9"],
        ["--election-type", "preferred", "--path-to-json-file", str(file)],
    ):
        for side in both:
            theirs = kafkas(side, "LeaderElectionCommand", "--bootstrap-server", "BROKER", *flags)
            ours = side.attempt("kafka-leader-election.sh", *flags)
            assert ours.code == theirs.code
            if ours.code == 0:
                words = [sorted(re.split("[ ,]+", text.strip())) for text in (ours.out, theirs.out)]
                assert words[0] == words[1]
            else:
                assert ours.out.startswith(f"Error completing leader election (PREFERRED) for partition: {name}-9: ")
                assert theirs.out.startswith(f"Error completing leader election (PREFERRED) for partition: {name}-9: ")
                assert ours.err == "barnabas cluster elect: 1 replica(s) could not be elected.\n"
    told = both.same("cluster elect", "preferred", "--topic", name, "--partition", "1")
    assert told == {"elected": [], "already_led": [f"{name}-1"], "failed": []}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--election-type preferred or unclean"),
        (["preferred", "--election-type", "unclean", "--all-topic-partitions"], "--election-type preferred or unclean"),
        (["preferred"], "one of --topic, --all-topic-partitions and --path-to-json-file"),
        (["preferred", "--topic", "x", "--all-topic-partitions"], "one of --topic"),
        (["preferred", "--topic", "x"], "name the partition of x"),
        (["preferred", "--all-topic-partitions", "--partition", "1"], "--partition goes with --topic only"),
    ],
)
def test_elections_that_cannot_be_meant(arguments: list[str], words: str) -> None:
    refused = run("cluster", "elect", *arguments)
    assert refused.code == 2
    assert words in refused.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no JSON: "),
        ("[]", "does not say which partitions"),
        ('{"partitions": [{"topic": "x"}]}', "does not say which partitions"),
        (
            '{"partitions": [{"topic": "x", "partition": 0}, {"topic": "x", "partition": 0}]}',
            "names x-0 more than once",
        ),
    ],
)
def test_a_file_of_partitions_that_cannot_be_meant(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "partitions.json"
    file.write_text(text)
    refused = run("cluster", "elect", "preferred", "--path-to-json-file", str(file))
    assert refused.code == 1
    assert words in refused.err


# kafka-delegation-tokens.sh; what it does is shown in tests/client/test_secured_kafka.py, where users have names


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["create"], "--max-life-time-period MS"),
        (["create", "--hmac", "x"], "--hmac cannot be used with --create: it goes with --renew and --expire"),
        (["renew", "--hmac", "eA=="], "--hmac TEXT --renew-time-period MS"),
        (["expire", "--expiry-time-period", "1"], "--hmac TEXT --expiry-time-period MS"),
        (["expire", "--hmac", "*", "--expiry-time-period", "1"], "--hmac * is not in base 64"),
        (["describe", "alice"], "alice is not understood"),
        (["describe", "--owner-principal", "alice"], "alice is no principal: write User:alice"),
    ],
)
def test_tokens_that_cannot_be_meant(arguments: list[str], words: str) -> None:
    refused = run("cluster", "tokens", *arguments)
    assert refused.code == 2
    assert words in refused.err


def test_ours_has_no_tokens_and_says_so(ours: Side) -> None:
    refused = ours.attempt("cluster tokens")
    assert refused.code == 1
    assert "does not offer DescribeDelegationToken" in refused.err


# Groups of commands


def test_nobody_there_is_a_sentence_for_each() -> None:
    address = str(closed_port())
    for words in (
        ["cluster"],
        *(["cluster", each] for each in ("info", "id", "endpoints", "api-versions", "features", "quorum", "reassign")),
        ["cluster", "unregister", "1"],
        ["cluster", "elect", "preferred", "--all-topic-partitions"],
        ["acls"],
        ["transactions"],
    ):
        refused = run(*words, "--bootstrap-server", address)
        assert refused.code == 1
        assert refused.out == ""
        assert refused.err.count("\n") == 1
        assert f"{address} cannot be reached (Connection refused): is a broker running there?" in refused.err


def test_a_word_that_is_no_command_of_the_group() -> None:
    refused = run("cluster", "qorum")
    assert refused.code == 2
    assert "is quorum meant?" in refused.err
    helped = run("cluster", "--help")
    assert helped.code == 0
    assert "api-versions" in helped.out
    assert run("cluster", "quorum", "--version").out.startswith("barnabas ")


def test_partitions_are_written_as_kafka_writes_them() -> None:
    assert str(Partition("a-b", 3)) == "a-b-3"
    same_lines("a\nb", "b\na")


def test_on_a_terminal_what_cannot_be_undone_is_asked_for(ours: Side) -> None:
    command = [
        sys.executable,
        "-m",
        "barnabas.cli",
        "cluster",
        "unregister",
        "77",
        "--bootstrap-server",
        ours.bootstrap,
    ]
    with typed_into(*command) as (terminal, process):
        assert "Forget broker 77" in read_until(terminal, "[y/N]")
        os.write(terminal, b"n\n")
        read_until(terminal, "Nothing was done")
        assert process.wait(PATIENCE_S) == 1
