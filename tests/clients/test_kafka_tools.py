"""Kafka's own command line tools, from its published jars."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import PATIENCE_S, wait_until
from tests.kafka.classpath import java_command
from tests.kafka.java_oracle import JavaOracle

pytestmark = [pytest.mark.slow, pytest.mark.java]

SOURCE = Path(__file__).with_name("ToolRunner.java")
TOOLS = {
    "ConfigCommand": "kafka.admin.ConfigCommand",
    "ConsoleConsumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "ConsumerGroupCommand": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
}


class Tools:
    def __init__(self, java: JavaOracle, broker: BrokerProcess) -> None:
        self._java = java
        self._broker = broker

    def run(self, tool: str, *arguments: str, stdin: str = "") -> str:
        """What it prints; AssertionError if it does not end well."""
        name = TOOLS.get(tool, f"org.apache.kafka.tools.{tool}")
        question = {
            "tool": name,
            "arguments": ["--bootstrap-server", self._broker.bootstrap, *arguments],
            "input": stdin,
        }
        answer = json.loads(self._java.ask(json.dumps(question)))
        assert answer["code"] == 0, f"{tool} ended with {answer['code']}:\n{answer['out']}{answer['err'][-3000:]}"
        return str(answer["out"])


@pytest.fixture
def tools(java_oracle: Callable[[Path], JavaOracle], broker: BrokerProcess) -> Tools:
    return Tools(java_oracle(SOURCE), broker)


def table(text: str) -> list[dict[str, str]]:
    """What a tool prints in columns."""
    head, *rows = [line.split() for line in text.splitlines() if line.strip()]
    return [dict(zip(head, row, strict=False)) for row in rows]


def test_topics(tools: Tools, name: str) -> None:
    tools.run("TopicCommand", "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=86400000")
    assert name in tools.run("TopicCommand", "--list").split()
    tools.run("TopicCommand", "--alter", "--topic", name, "--partitions", "3")
    described = tools.run("TopicCommand", "--describe", "--topic", name)
    assert re.search(r"PartitionCount: 3\s+ReplicationFactor: 1\s+Configs: .*retention\.ms=86400000", described)
    assert re.findall(r"Partition: (\d)\s+Leader: 1\s+Replicas: 1\s+Isr: 1\b", described) == ["0", "1", "2"]
    tools.run("TopicCommand", "--delete", "--topic", name)
    assert name not in tools.run("TopicCommand", "--list").split()


def test_console(tools: Tools, name: str) -> None:
    """Keys, headers and codecs in; out again, by a group whose place is then moved; how far each partition goes."""
    tools.run("TopicCommand", "--create", "--topic", name)
    codecs = ["none", "gzip", "snappy", "lz4", "zstd"]
    parse = ["parse.key=true", "parse.headers=true"]
    for codec in codecs:
        reader = [word for each in parse for word in ("--reader-property", each)]
        line = f"color:red,size:7\tkey of {codec}\tvalue of {codec}\n"
        arguments = ("--topic", name, "--compression-codec", codec)
        tools.run("ConsoleProducer", *arguments, *reader, stdin=line)
    formatter = ("--formatter-property", "print.key=true", "--formatter-property", "print.headers=true")
    expected = "".join(f"color:red,size:7\tkey of {codec}\tvalue of {codec}\n" for codec in codecs)
    consume = ("--topic", name, "--group", name, "--from-beginning", "--max-messages", "5", "--timeout-ms", "20000")
    assert tools.run("ConsoleConsumer", *consume, *formatter) == expected

    assert tools.run("GetOffsetShell", "--topic", name) == f"{name}:0:5\n"
    assert tools.run("GetOffsetShell", "--topic", name, "--time", "-2") == f"{name}:0:0\n"
    assert name in tools.run("ConsumerGroupCommand", "--list").split()
    (described,) = table(tools.run("ConsumerGroupCommand", "--describe", "--group", name))
    assert (described["CURRENT-OFFSET"], described["LOG-END-OFFSET"], described["LAG"]) == ("5", "5", "0")
    group = ("--group", name, "--topic", name)
    (reset,) = table(tools.run("ConsumerGroupCommand", "--reset-offsets", *group, "--to-offset", "3", "--execute"))
    assert reset["NEW-OFFSET"] == "3"
    (described,) = table(tools.run("ConsumerGroupCommand", "--describe", "--group", name))
    assert described["LAG"] == "2"
    again = ("--topic", name, "--group", name, "--max-messages", "2", "--timeout-ms", "20000")
    assert tools.run("ConsoleConsumer", *again) == "value of lz4\nvalue of zstd\n"
    assert "successful" in tools.run("ConsumerGroupCommand", "--delete", "--group", name)
    assert name not in tools.run("ConsumerGroupCommand", "--list").split()


def test_configs(tools: Tools, name: str) -> None:
    tools.run("TopicCommand", "--create", "--topic", name)
    topic = ("--entity-type", "topics", "--entity-name", name)
    tools.run(
        "ConfigCommand", "--alter", *topic, "--add-config", "retention.ms=3600000,cleanup.policy=[compact,delete]"
    )
    described = tools.run("ConfigCommand", "--describe", *topic)
    assert re.search(r"^  retention\.ms=3600000 ", described, re.MULTILINE)
    assert re.search(r"^  cleanup\.policy=compact,delete ", described, re.MULTILINE)
    tools.run("ConfigCommand", "--alter", *topic, "--delete-config", "retention.ms")
    assert "retention.ms" not in tools.run("ConfigCommand", "--describe", *topic)
    assert "max.message.bytes=1048588 " in tools.run("ConfigCommand", "--describe", *topic, "--all")


def test_records_are_deleted(tools: Tools, name: str, tmp_path: Path) -> None:
    tools.run("TopicCommand", "--create", "--topic", name)
    tools.run("ConsoleProducer", "--topic", name, stdin="a\nb\nc\nd\n")
    wanted = tmp_path / "offsets.json"
    wanted.write_text(json.dumps({"version": 1, "partitions": [{"topic": name, "partition": 0, "offset": 3}]}))
    answer = tools.run("DeleteRecordsCommand", "--offset-json-file", str(wanted))
    assert f"partition: {name}-0\tlow_watermark: 3" in answer
    consume = ("--topic", name, "--from-beginning", "--max-messages", "1", "--timeout-ms", "20000")
    assert tools.run("ConsoleConsumer", *consume) == "d\n"


def test_log_directories(tools: Tools, name: str, broker: BrokerProcess) -> None:
    tools.run("TopicCommand", "--create", "--topic", name)
    tools.run("ConsoleProducer", "--topic", name, stdin="a\nb\n")
    answer = tools.run("LogDirsCommand", "--describe", "--topic-list", name)
    described = json.loads(answer.splitlines()[-1])
    (directory,) = described["brokers"][0]["logDirs"]
    (partition,) = directory["partitions"]
    assert (directory["error"], directory["logDir"]) == (None, str(broker.data_directory))
    assert (partition["partition"], partition["isFuture"], partition["offsetLag"]) == (f"{name}-0", False, 0)
    assert partition["size"] == (broker.data_directory / f"{name}-0" / f"{0:020}.log").stat().st_size


def test_performance(tools: Tools, name: str) -> None:
    """They count what they send and what they get."""
    tools.run("TopicCommand", "--create", "--topic", name, "--partitions", "2")
    count = "20000"
    produced = tools.run(
        "ProducerPerformance", "--topic", name, "--num-records", count, "--record-size", "500", "--throughput", "-1"
    )
    assert produced.splitlines()[-1].startswith(f"{count} records sent")
    consume = ("--topic", name, "--num-records", count, "--timeout", "20000", "--hide-header")
    consumed = tools.run("ConsumerPerformance", *consume)
    assert int(consumed.splitlines()[-1].split(", ")[4]) >= int(count)
    ends = [int(line.rpartition(":")[2]) for line in tools.run("GetOffsetShell", "--topic", name).splitlines()]
    assert sum(ends) == int(count)


def test_compatibility(tools: Tools, name: str) -> None:
    supported = (
        "offsets-for-times",
        "cluster-id",
        "create-topics",
        "describe-acls",
        "describe-configs",
        "idempotent-producer",
    )
    arguments = [word for each in supported for word in (f"--{each}-supported", "true")]
    arguments += ["--expect-record-too-large-exception", "false", "--num-cluster-nodes", "1"]
    tools.run("TopicCommand", "--create", "--topic", name)
    tools.run("ClientCompatibilityTest", "--topic", name, *arguments)


class Verifiable:
    """A tool that runs until it is told to stop, and says a line of JSON for all that happens to it."""

    def __init__(self, classpath: str, log: Path, tool: str, *arguments: str) -> None:
        self._log = log
        command = [*java_command(classpath, heap_mib=128), f"org.apache.kafka.tools.{tool}", *arguments]
        with log.open("wb") as out, log.with_suffix(".errors").open("wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)

    def said(self, what: str) -> list[dict[str, Any]]:
        whole = [line for line in self._log.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        return [event for line in whole if (event := json.loads(line))["name"] == what]

    def end(self, *, kill: bool) -> None:
        if kill:
            self.process.kill()
        else:
            self.process.terminate()
        self.process.wait(PATIENCE_S)


@pytest.fixture
def verifiable(kafka_classpath: str, tmp_path: Path) -> Iterator[Callable[..., Verifiable]]:
    with ExitStack() as stack:
        running: list[Verifiable] = []

        def start(tool: str, *arguments: str) -> Verifiable:
            running.append(Verifiable(kafka_classpath, tmp_path / f"{tool}-{len(running)}.log", tool, *arguments))
            stack.callback(running[-1].end, kill=True)
            return running[-1]

        yield start


def test_verifiable(
    verifiable: Callable[..., Verifiable],
    own_broker: Callable[..., BrokerProcess],
    java_oracle: Callable[[Path], JavaOracle],
    name: str,
    tmp_path: Path,
) -> None:
    """All that the producer was promised reaches the group, though a member is killed and the broker restarted."""
    broker = own_broker()
    Tools(java_oracle(SOURCE), broker).run("TopicCommand", "--create", "--topic", name, "--partitions", "4")
    at = ("--bootstrap-server", broker.bootstrap, "--topic", name)
    config = tmp_path / "consumer.properties"
    config.write_text("heartbeat.interval.ms=500\n")
    group = (
        "--command-config",
        str(config),
        "--group-id",
        name,
        "--session-timeout",
        "3000",
        "--reset-policy",
        "earliest",
        "--verbose",
    )
    members = [verifiable("VerifiableConsumer", *at, *group) for _ in range(2)]
    producer = verifiable("VerifiableProducer", *at, "--throughput", "500", "--acks", "-1")

    def received(*of: Verifiable) -> set[str]:
        return {event["value"] for each in of for event in each.said("record_data")}

    wait_until(lambda: all(received(each) for each in members), "both members to get records")
    members[0].end(kill=True)
    broker.restart(kill=True)
    before = len(received(members[1]))
    partitions = {"0", "1", "2", "3"}

    def has_all_partitions() -> bool:
        return partitions <= {str(event["partition"]) for event in members[1].said("record_data")[before:]}

    wait_until(has_all_partitions, "the member that is left to get records of all partitions")
    producer.end(kill=False)
    sent = {event["value"] for event in producer.said("producer_send_success")}
    (data,) = producer.said("tool_data")
    assert data["acked"] == len(sent)
    wait_until(lambda: sent <= received(*members), "the rest of the records")
    members[1].end(kill=False)
    values: dict[tuple[int, int], str] = {}
    for event in (event for each in members for event in each.said("record_data")):
        place = (event["partition"], event["offset"])
        assert values.setdefault(place, event["value"]) == event["value"], "an offset has one value for ever"
