"""Kafka's tools and ours: the table of all of them, and every option that a tool of Kafka's names in its help."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.cli.commands import COMMANDS, KAFKA_TOOLS, Command, Group, find
from barnabas.cli.main import parser_of
from compat.kafka_tools.tools import TOOLS as KAFKAS_CLASSES
from tests.cli.beside import run
from tests.kafka.classpath import find_classpath, java_command
from tests.kafka.tool_runner import ToolRunner

TABLE = Path(__file__).resolve().parents[2] / "docs/TOOLS.md"
OF_OTHER_THINGS = ("connect", "trogdor", "zookeeper")


class Tool(NamedTuple):
    main: str
    """Its class, in org.apache.kafka.tools or as the runner knows it."""
    actions: tuple[str, ...] = ()
    """Those that have a help of their own."""


TOOLS = {
    "kafka-acls": Tool("AclCommand"),
    "kafka-broker-api-versions": Tool("BrokerApiVersionsCommand"),
    "kafka-client-metrics": Tool("ClientMetricsCommand"),
    "kafka-cluster": Tool("ClusterTool", ("cluster-id", "unregister", "list-endpoints")),
    "kafka-configs": Tool("ConfigCommand"),
    "kafka-console-consumer": Tool("ConsoleConsumer"),
    "kafka-console-producer": Tool("ConsoleProducer"),
    "kafka-consumer-groups": Tool("ConsumerGroupCommand"),
    "kafka-consumer-perf-test": Tool("ConsumerPerformance"),
    "kafka-delegation-tokens": Tool("DelegationTokenCommand"),
    "kafka-delete-records": Tool("DeleteRecordsCommand"),
    "kafka-dump-log": Tool("DumpLogSegments"),
    "kafka-e2e-latency": Tool("EndToEndLatency"),
    "kafka-features": Tool(
        "FeatureCommand", ("describe", "upgrade", "downgrade", "disable", "version-mapping", "feature-dependencies")
    ),
    "kafka-get-offsets": Tool("GetOffsetShell"),
    "kafka-groups": Tool("GroupsCommand"),
    "kafka-leader-election": Tool("LeaderElectionCommand"),
    "kafka-log-dirs": Tool("LogDirsCommand"),
    "kafka-metadata-quorum": Tool("MetadataQuorumCommand", ("describe", "add-controller", "remove-controller")),
    "kafka-producer-perf-test": Tool("ProducerPerformance"),
    "kafka-reassign-partitions": Tool("reassign.ReassignPartitionsCommand"),
    "kafka-replica-verification": Tool("ReplicaVerificationTool"),
    "kafka-share-groups": Tool("consumer.group.ShareGroupCommand"),
    "kafka-storage": Tool(
        "kafka.tools.StorageTool", ("info", "format", "version-mapping", "feature-dependencies", "random-uuid")
    ),
    "kafka-streams-groups": Tool("streams.StreamsGroupCommand"),
    "kafka-topics": Tool("TopicCommand"),
    "kafka-transactions": Tool(
        "TransactionsCommand",
        ("list", "describe", "describe-producers", "find-hanging", "abort", "forceTerminateTransaction"),
    ),
}
WITHOUT_HELP = {"kafka-server-start"}
"""A script without a tool behind it that would tell its options."""

ENDS_THE_JVM = {"ClusterTool"}
"""By System.exit, past Kafka's own way to end: not in the JVM that all tools share."""
PATIENCE_S = 60


def rows() -> dict[str, str]:
    section = TABLE.read_text().partition("## Kafka's scripts")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([\w-]+)\.sh` \| (.*) \|$", section, re.MULTILINE))


def test_the_table_has_each_script_once_and_in_order() -> None:
    section = TABLE.read_text().partition("## Kafka's scripts")[2].partition("\n## ")[0]
    scripts = re.findall(r"^\| `([\w-]+)\.sh`", section, re.MULTILINE)
    assert scripts == sorted(set(scripts))
    assert len(rows()) == len(scripts) >= 40
    for script, ours in rows().items():
        assert ours.startswith(("`barnabas ", "none: ")), script
        assert script.startswith(("kafka-", *OF_OTHER_THINGS)), script


def test_what_the_table_promises_is_there() -> None:
    promised = {script for script, ours in rows().items() if not ours.startswith("none")}
    assert promised == set(KAFKA_TOOLS)
    assert set(TOOLS) | WITHOUT_HELP == promised
    for script in sorted(promised):
        words = re.match(r"`barnabas ([a-z-]+(?: [a-z-]+)?)", rows()[script])
        assert words is not None, script
        assert KAFKA_TOOLS[script][0] == words[1].split()[0], script


def test_each_command_has_its_section() -> None:
    headings = re.findall(r"^## (.+)$", TABLE.read_text(), re.MULTILINE)
    assert headings[1:] == sorted(headings[1:])
    assert {heading.split()[0] for heading in headings[1:]} <= set(COMMANDS)


def flags_of(command: Command | Group) -> Iterator[str]:
    if isinstance(command, Group):
        for inner in command.commands.values():
            yield from flags_of(inner)
        return
    for action in parser_of("x", command)._actions:
        yield from action.option_strings


def _help_of(tools: ToolRunner, main: str, words: list[str]) -> str:
    if main in ENDS_THE_JVM:
        command = [*java_command(find_classpath(), heap_mib=64), f"org.apache.kafka.tools.{main}", *words, "--help"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        return done.stdout + done.stderr
    # Without an option of its own EndToEndLatency takes its words for those of its first versions.
    named = ["--topic", "x"] if main == "EndToEndLatency" else []
    name = main if main.startswith("kafka.") else KAFKAS_CLASSES.get(main, f"org.apache.kafka.tools.{main}")
    _, out, err = tools.attempt(name, *named, *words, "--help")
    return out + err


def told_as_different(script: str) -> set[str]:
    """Flags that the section of our command says are not taken."""
    section = TABLE.read_text().partition(f"\n## {KAFKA_TOOLS[script][0]}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^- Not taken: (.*)$", section, re.MULTILINE)
    return {flag for line in found for flag in re.findall(r"`(--?[\w.-]+)`", line)}


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("script", sorted(TOOLS))
def test_every_option_of_kafka_s_tool_is_taken(kafka_tools: ToolRunner, script: str) -> None:
    main, actions = TOOLS[script]
    asked = [[], *([each] for each in actions)]
    text = "\n".join(_help_of(kafka_tools, main, words) for words in asked)
    theirs = set(re.findall(r"^ *(?:-\w(?: \w+)?, ?)?(--[a-zA-Z][\w.-]+)", text, re.MULTILINE))
    assert len(theirs) > 2, text
    _, command, _ = find([script]) if actions and script == "kafka-cluster" else find([f"{script}.sh"])
    if script == "kafka-cluster":
        command = COMMANDS["cluster"]
    assert command is not None
    assert theirs - set(flags_of(command)) - told_as_different(script) == set()


def test_a_line_that_starts_kafka_starts_ours(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=none\n")
    ran = run("kafka-server-start.sh", str(file), "--override", "log.retention.hours=x")
    assert ran.code == 1
    assert "num.partitions=none" in ran.err
    assert "log.retention.hours=x" in ran.err
