"""Kafka's own command line tools against a node: what they are called with every day, and what they print."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.clients.broker_process import BrokerProcess
from compat.kafka_tools.tools import Tools, table
from tests.clients.waiting import wait_until
from tests.kafka.tool_runner import ToolRunner

pytestmark = [pytest.mark.slow, pytest.mark.java]

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def consume(tools: Tools, topic: str, count: int, *more: str) -> list[str]:
    arguments = ("--topic", topic, "--max-messages", str(count), "--timeout-ms", "20000", *more)
    return tools.run("ConsoleConsumer", *arguments).splitlines()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def time_after_all() -> int:
    """No record that there is has it, and each that comes is later."""
    between = now_ms() + 1
    wait_until(lambda: now_ms() > between, "a millisecond")
    return between


def test_topics(tools: Tools, name: str) -> None:
    create = ("--create", "--topic", name, "--partitions", "2", "--replication-factor", "1")
    created = tools.run("TopicCommand", *create, "--config", "retention.ms=86400000")
    assert created == f"Created topic {name}.\n"
    code, out, err = tools.attempt("TopicCommand", *create)
    assert code == 1
    assert f"Topic '{name}' already exists." in out + err
    assert tools.run("TopicCommand", *create, "--if-not-exists") == ""
    assert name in tools.run("TopicCommand", "--list", "--exclude-internal").split()

    tools.run("TopicCommand", "--alter", "--topic", name, "--partitions", "3")
    one = ("--describe", "--topic", name)
    described = tools.run("TopicCommand", *one)
    assert re.search(r"PartitionCount: 3\s+ReplicationFactor: 1\s+Configs: .*retention\.ms=86400000", described)
    assert re.findall(r"Partition: (\d)\s+Leader: 1\s+Replicas: 1\s+Isr: 1\b", described) == ["0", "1", "2"]
    assert tools.run("TopicCommand", *one, "--partition-size-limit-per-response", "1") == described
    topic_id = re.findall(r"TopicId: (\S+)", described)[0]
    by_id = tools.run("TopicCommand", "--describe", "--topic-id", topic_id)
    assert by_id.replace("Elr: N/A", "Elr: ") == described  # asked by id, clients do not hear of those
    assert f"Topic: {name}\t" in tools.run("TopicCommand", "--describe", "--topics-with-overrides")
    for unhealthy in ("under-replicated", "unavailable", "under-min-isr"):
        assert tools.run("TopicCommand", *one, f"--{unhealthy}-partitions") == ""

    assigned = ("--topic", f"{name}-assigned", "--replica-assignment", "1,1")
    tools.run("TopicCommand", "--create", *assigned)
    assert "PartitionCount: 2" in tools.run("TopicCommand", "--describe", "--topic", f"{name}-assigned")
    tools.run("TopicCommand", "--delete", "--topic", f"{name}.*")
    assert not {name, f"{name}-assigned"} & set(tools.run("TopicCommand", "--list").split())
    assert tools.run("TopicCommand", "--delete", "--topic", name, "--if-exists") == ""


def test_console(tools: Tools, name: str) -> None:
    """Keys, headers and codecs in, as fast as they go or each by itself; out again, all or of one partition."""
    tools.run("TopicCommand", "--create", "--topic", name)
    reader = ("--reader-property", "parse.key=true", "--reader-property", "parse.headers=true")
    for codec in CODECS:
        line = f"color:red,size:7\tkey of {codec}\tvalue of {codec}\n"
        tools.run("ConsoleProducer", "--topic", name, "--compression-codec", codec, *reader, stdin=line)
    before = now_ms()
    for acks in ("0", "1", "all"):
        slowly = ("--sync", "--request-required-acks", acks, "--command-property", "linger.ms=0")
        tools.run("ConsoleProducer", "--topic", name, *slowly, stdin=f"acks {acks}\n")
    shown = [word for each in ("key", "headers") for word in ("--formatter-property", f"print.{each}=true")]
    expected = [f"color:red,size:7\tkey of {codec}\tvalue of {codec}" for codec in CODECS]
    assert consume(tools, name, 5, "--from-beginning", *shown) == expected

    places = [
        word for each in ("partition", "offset", "timestamp") for word in ("--formatter-property", f"print.{each}=true")
    ]
    from_offset = ("--partition", "0", "--offset", "6", "--isolation-level", "read_committed")
    for number, line in enumerate(consume(tools, name, 2, *from_offset, *places), 6):
        kind, partition, offset, value = line.split("\t")
        assert (partition, offset, value) == ("Partition:0", f"Offset:{number}", ["acks 1", "acks all"][number - 6])
        assert before <= int(kind.removeprefix("CreateTime:")) <= now_ms()
    included = ("--include", f"{name}.*", "--from-beginning", "--max-messages", "8", "--timeout-ms", "20000")
    assert len(tools.run("ConsoleConsumer", *included).splitlines()) == 8


def test_a_group_goes_on_where_it_was(tools: Tools, name: str, tmp_path: Path) -> None:
    """What it commits, by itself; where it is put, by offset, by time, from a file; and what is left of it."""
    tools.run("TopicCommand", "--create", "--topic", name)
    tools.run("ConsoleProducer", "--topic", name, stdin="a\nb\n")
    between = time_after_all()
    tools.run("ConsoleProducer", "--topic", name, stdin="c\nd\ne\n")
    group = ("--group", name)
    assert consume(tools, name, 2, *group, "--from-beginning") == ["a", "b"]
    assert consume(tools, name, 1, *group) == ["c"]

    def described() -> tuple[str, str, str]:
        (one,) = table(tools.run("ConsumerGroupCommand", "--describe", *group))
        return one["CURRENT-OFFSET"], one["LOG-END-OFFSET"], one["LAG"]

    assert described() == ("3", "5", "2")
    assert name in tools.run("ConsumerGroupCommand", "--list").split()
    listed = {one["GROUP"]: one for one in table(tools.run("ConsumerGroupCommand", "--list", "--state", "--type"))}
    assert (listed[name]["STATE"], listed[name]["TYPE"]) == ("Empty", "Classic")
    state = tools.run("ConsumerGroupCommand", "--describe", *group, "--state")
    assert re.search(rf"^{re.escape(name)} +127\.0\.0\.1:\d+ +\(1\) +- +Empty +0$", state, re.MULTILINE), state
    assert name in tools.run("ConsumerGroupCommand", "--describe", "--all-groups")

    def reset(*where: str, execute: bool = True) -> str:
        how = "--execute" if execute else "--dry-run"
        (one,) = table(tools.run("ConsumerGroupCommand", "--reset-offsets", *group, "--topic", name, *where, how))
        return one["NEW-OFFSET"]

    moment = datetime.fromtimestamp(between / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{between % 1000:03}Z"
    assert reset("--to-latest", execute=False) == "5"
    assert described()[0] == "3", "it was only asked"
    assert reset("--to-datetime", moment) == "2"
    assert consume(tools, name, 3, *group) == ["c", "d", "e"]
    assert [reset("--shift-by", "-4"), reset("--to-earliest"), reset("--to-offset", "3")] == ["1", "0", "3"]
    assert reset("--by-duration", "PT1H") == "0"
    exported = tools.run(
        "ConsumerGroupCommand", "--reset-offsets", *group, "--topic", f"{name}:0", "--to-offset", "4", "--export"
    )
    assert exported.strip() == f'"{name}",0,4'
    plan = tmp_path / "plan.csv"
    plan.write_text(exported)
    tools.run("ConsumerGroupCommand", "--reset-offsets", *group, "--from-file", str(plan), "--execute")
    assert described() == ("4", "5", "1")

    forgotten = tools.run("ConsumerGroupCommand", "--delete-offsets", *group, "--topic", name)
    assert "Successful" in forgotten
    assert consume(tools, name, 5, *group, "--from-beginning") == ["a", "b", "c", "d", "e"]
    assert "successful" in tools.run("ConsumerGroupCommand", "--delete", *group)
    assert name not in tools.run("ConsumerGroupCommand", "--list").split()


ENTITIES = {
    "topic": ("retention.ms=3600000,cleanup.policy=[compact,delete]", "cleanup.policy=compact,delete "),
    "broker": ("max.connections=99999", "max.connections=99999 "),
    "broker-defaults": ("max.connection.creation.rate=9999", "max.connection.creation.rate=9999 "),
    "group": ("consumer.session.timeout.ms=50000", "consumer.session.timeout.ms=50000 "),
    "client-metrics": ("interval.ms=1000,match=[client_id=nobody]", "match=client_id=nobody "),
    "client": ("producer_byte_rate=1048576", "producer_byte_rate=1048576.0"),
    "user": ("request_percentage=900", "request_percentage=900.0"),
    "ip": ("connection_creation_rate=4000", "connection_creation_rate=4000.0"),
}
NAMES = {"broker": "1", "ip": "192.0.2.7"}


@pytest.mark.parametrize("kind", ENTITIES)
def test_configs(tools: Tools, name: str, kind: str, tmp_path: Path) -> None:
    """Set, shown, set from a file, and gone again."""
    setting, shown = ENTITIES[kind]
    if kind == "topic":
        tools.run("TopicCommand", "--create", "--topic", name)
    entity = (f"--{kind}",) if kind.endswith("defaults") else (f"--{kind}", NAMES.get(kind, name))
    assert "Completed updating" in tools.run("ConfigCommand", "--alter", *entity, "--add-config", setting)
    described = tools.run("ConfigCommand", "--describe", *entity)
    assert shown in described
    keys = re.findall(r"[a-z_.]+(?==)", re.sub(r"\[.*?\]", "", setting))
    for key in keys:
        tools.run("ConfigCommand", "--alter", *entity, "--delete-config", key)
    assert not any(f"{key}=" in tools.run("ConfigCommand", "--describe", *entity) for key in keys)

    file = tmp_path / "more.properties"
    file.write_text("".join(f"{each}\n" for each in re.findall(r"[a-z_.]+=(?!\[)[^,]+", setting.split(",match")[0])))
    tools.run("ConfigCommand", "--alter", *entity, "--add-config-file", str(file))
    assert file.read_text().splitlines()[0] in tools.run("ConfigCommand", "--describe", *entity)
    for line in file.read_text().splitlines():
        tools.run("ConfigCommand", "--alter", *entity, "--delete-config", line.partition("=")[0])


def test_all_configs(tools: Tools, name: str) -> None:
    """With what they would be otherwise, and of a user together with a client."""
    tools.run("TopicCommand", "--create", "--topic", name)
    topic = tools.run("ConfigCommand", "--describe", "--entity-type", "topics", "--entity-name", name, "--all")
    assert "max.message.bytes=1048588 " in topic
    broker = tools.run("ConfigCommand", "--describe", "--entity-type", "brokers", "--entity-name", "1", "--all")
    assert "group.initial.rebalance.delay.ms=0 " in broker
    both = ("--entity-type", "users", "--entity-name", name, "--entity-type", "clients", "--entity-name", name)
    tools.run("ConfigCommand", "--alter", *both, "--add-config", "consumer_byte_rate=2048")
    quota = tools.run("ConfigCommand", "--describe", *both)
    assert quota == f"Quota configs for user-principal '{name}', client-id '{name}' are consumer_byte_rate=2048.0\n"
    tools.run("ConfigCommand", "--alter", *both, "--delete-config", "consumer_byte_rate")


def test_offsets(tools: Tools, name: str) -> None:
    tools.run("TopicCommand", "--create", "--topic", name, "--partitions", "3")
    keyed = ("--topic", name, "--reader-property", "parse.key=true")
    tools.run("ConsoleProducer", *keyed, stdin="".join(f"key {n}\t{n}\n" for n in range(40)))
    between = time_after_all()
    tools.run("ConsoleProducer", *keyed, stdin="".join(f"key {n}\t{n}\n" for n in range(40)))

    def offsets(*arguments: str) -> dict[int, int]:
        lines = tools.run("GetOffsetShell", *arguments).splitlines()
        return {int(part): int(offset) for topic, part, offset in (line.split(":") for line in lines) if topic == name}

    topic = ("--topic", name)
    ends = offsets(*topic)
    assert (sorted(ends), sum(ends.values())) == ([0, 1, 2], 80)
    assert offsets(*topic, "--time", "latest") == offsets(*topic, "--time", "-1") == ends
    assert set(offsets(*topic, "--time", "earliest").values()) == {0}
    assert offsets(*topic, "--time", str(between)) == {part: end // 2 for part, end in ends.items()}
    latest = offsets(*topic, "--time", "max-timestamp")
    assert all(end // 2 <= latest[part] < end for part, end in ends.items())
    assert set(offsets(*topic, "--time", "earliest-local").values()) == {0}
    assert offsets(*topic, "--partitions", "0,2") == {part: ends[part] for part in (0, 2)}
    assert offsets("--topic-partitions", f"{name}:1-3", "--exclude-internal-topics") == {1: ends[1], 2: ends[2]}


def test_records_are_deleted(tools: Tools, name: str, tmp_path: Path) -> None:
    tools.run("TopicCommand", "--create", "--topic", name)
    tools.run("ConsoleProducer", "--topic", name, stdin="a\nb\nc\nd\n")
    wanted = tmp_path / "offsets.json"

    def delete(before: int) -> str:
        wanted.write_text(json.dumps({"version": 1, "partitions": [{"topic": name, "partition": 0, "offset": before}]}))
        return tools.run("DeleteRecordsCommand", "--offset-json-file", str(wanted))

    assert f"partition: {name}-0\tlow_watermark: 3" in delete(3)
    assert consume(tools, name, 1, "--from-beginning") == ["d"]
    assert f"partition: {name}-0\tlow_watermark: 4" in delete(-1)
    assert tools.run("GetOffsetShell", "--topic", name, "--time", "earliest") == f"{name}:0:4\n"
    assert "OffsetOutOfRange" in delete(9)


def test_log_directories(tools: Tools, name: str, broker: BrokerProcess) -> None:
    tools.run("TopicCommand", "--create", "--topic", name)
    tools.run("ConsoleProducer", "--topic", name, stdin="a\nb\n")
    answer = tools.run("LogDirsCommand", "--describe", "--topic-list", name, "--broker-list", "1")
    described = json.loads(answer.splitlines()[-1])
    assert [one["broker"] for one in described["brokers"]] == [1]
    (directory,) = described["brokers"][0]["logDirs"]
    (partition,) = directory["partitions"]
    assert (directory["error"], directory["logDir"]) == (None, str(broker.data_directory))
    assert (partition["partition"], partition["isFuture"], partition["offsetLag"]) == (f"{name}-0", False, 0)
    assert partition["size"] == (broker.data_directory / f"{name}-0" / f"{0:020}.log").stat().st_size
    assert f'"{name}-0"' in tools.run("LogDirsCommand", "--describe"), "all topics of all brokers"


def test_performance(tools: Tools, name: str, tmp_path: Path) -> None:
    """They count what they send and what they get."""
    tools.run("TopicCommand", "--create", "--topic", name, "--partitions", "2")
    produce = ("--topic", name, "--num-records", "20000", "--throughput", "-1")
    plain = tools.run("ProducerPerformance", *produce, "--record-size", "500")
    assert plain.splitlines()[-1].startswith("20000 records sent")
    payloads = tmp_path / "payloads"
    payloads.write_text("one\ntwo\nthree\n")
    properties = ("acks=all", "compression.type=lz4", "max.in.flight.requests.per.connection=5")
    packed = tools.run(
        "ProducerPerformance",
        *produce,
        "--payload-file",
        str(payloads),
        "--print-metrics",
        "--command-property",
        *properties,
    )
    assert any(line.startswith("20000 records sent") for line in packed.splitlines())
    (total,) = re.findall(r"^producer-metrics:record-send-total:\S+ +: +([\d.]+)", packed, re.MULTILINE)
    assert float(total) == 20_000

    consume = ("--topic", name, "--num-records", "40000", "--timeout", "20000")
    header, figures = tools.run("ConsumerPerformance", *consume).splitlines()[-2:]
    found = dict(zip(header.split(", "), figures.split(", "), strict=True))
    assert int(found["data.consumed.in.nMsg"]) == 40_000
    detailed = tools.run(
        "ConsumerPerformance", *consume, "--show-detailed-stats", "--reporting-interval", "20", "--group", name
    )
    assert detailed.startswith("time, threadId, ")
    ends = [int(line.rpartition(":")[2]) for line in tools.run("GetOffsetShell", "--topic", name).splitlines()]
    assert sum(ends) == 40_000
    values = set(consume_values(tools, name))
    assert values >= {"one", "two", "three"}


def consume_values(tools: Tools, topic: str) -> list[str]:
    whole = ("--topic", topic, "--from-beginning", "--max-messages", "40000", "--timeout-ms", "20000")
    return tools.run("ConsoleConsumer", *whole).splitlines()


SUPPORTED = (
    "offsets-for-times",
    "cluster-id",
    "create-topics",
    "describe-acls",
    "describe-configs",
    "idempotent-producer",
)


def compatibility(topic: str, *, lacking: str = "", nodes: int = 1, too_large: bool = False) -> list[str]:
    flags = {f"--{each}-supported": str(each != lacking).lower() for each in SUPPORTED}
    flags |= {"--expect-record-too-large-exception": str(too_large).lower(), "--num-cluster-nodes": str(nodes)}
    return ["--topic", topic, *(word for each in flags.items() for word in each)]


def test_compatibility(own_broker: Callable[..., BrokerProcess], kafka_tools: ToolRunner, name: str) -> None:
    """It finds what it is told to find, and fails for each thing that it is told not to find."""
    tools = Tools(kafka_tools, own_broker())

    def attempt(number: int, **wanted: object) -> tuple[int, str]:
        tools.run("TopicCommand", "--delete", "--topic", "newtopic", "--if-exists")
        topic = f"{name}-{number}"
        tools.run("TopicCommand", "--create", "--topic", topic)
        code, out, err = tools.attempt("ClientCompatibilityTest", *compatibility(topic, **wanted))  # type: ignore[arg-type]
        return code, err + out  # its verdict is the last line

    code, said = attempt(0)
    assert (code, said.splitlines()[-1]) == (0, "SUCCESS."), said
    unexpected = {
        "offsets-for-times": "Did not expect offsetsForTimes to be supported, but it was.",
        "create-topics": "Did not expect createTopics to be supported, but it was.",
        "describe-acls": "Did not expect describeAclsSupported to be supported, but it was.",
        "describe-configs": "Did not expect describeConfigsSupported to be supported, but it was.",
    }
    for number, (feature, message) in enumerate(unexpected.items(), 1):
        code, said = attempt(number, lacking=feature)
        assert (code, message in said) == (1, True), said
    code, said = attempt(5, too_large=True)
    assert code == 1
    assert "Expected to get a RecordTooLargeException" in said
    code, said = attempt(6, lacking="idempotent-producer")
    assert code == 0, "that one is not idempotent, and works as well"


def test_acls_without_an_authorizer(tools: Tools, name: str) -> None:
    """It is said, and the tool ends: nothing hangs, and nothing is taken for done."""
    added = ("--add", "--allow-principal", "User:clara", "--operation", "Read", "--topic", name)
    for arguments in (("--list",), added, ("--remove", "--force", *added[1:])):
        code, out, err = tools.attempt("AclCommand", *arguments)
        assert code == 1
        assert "SecurityDisabledException: No Authorizer is configured" in out + err
