"""What shows that a client takes a step of its round: a check of the card, or a test; or why it has no such step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compat.rounds.adapter import JAVA

__all__ = ["KAFKA_TOOLS", "ROUNDS", "STEPS", "Cannot", "Check"]

STEPS = (
    "create",
    "produce",
    "consume",
    "a member joins",
    "a member leaves",
    "a member dies",
    "seek by time",
    "commit and go on from it",
    "the broker restarts in the middle",
)


@dataclass(frozen=True, slots=True)
class Cannot:
    why: str


@dataclass(frozen=True, slots=True)
class Check:
    """It has to pass: it stands in compat/clients/CLIENT/tests.allow."""

    client: str
    name: str


Round = Mapping[str, str | Check | Cannot]


def through_adapter(client: str, strategy: str, directory: str | None = None) -> Round:
    """A client that takes the same round as the others, through its file with_CLIENT.py."""

    def check(name: str) -> Check:
        return Check(directory or client, name)

    groups = check(f"groups: members join, leave and die, assigned by {strategy}")
    steps = (
        check("topics: created, listed, described and deleted"),
        check("produce: keys, headers, times and what is empty come out as they went in"),
        check("consume: from the beginning to the end"),
        groups,
        groups,
        groups,
        check("consume: from a time on"),
        check("offsets: who comes later goes on from them, and commits by itself"),
        f"test_restart.py::test_a_restart_in_the_middle[{client}-kill]",
    )
    return dict(zip(STEPS, steps, strict=True))


def tools(name: str) -> Check:
    return Check("kafka-tools", name)


def kcat(name: str) -> Check:
    return Check("kcat", name)


def spark(name: str) -> Check:
    return Check("spark", name)


NO_GROUP = Cannot(
    "Spark gives the partitions to its tasks itself and keeps offsets in its checkpoint: it joins no group"
)
TOOLS_CONSOLE = tools("produce: keys, headers, each codec, one by one and together, by the console tools")
TOOLS_GROUP = tools("offsets: committed, described, and put elsewhere by offset, by time and from a file")
TOOLS_MEMBERS = tools("groups: VerifiableConsumers join, leave and die, and get what VerifiableProducer was promised")
TOOLS_MESSAGES = tools("offsets: VerifiableConsumer, a static member, goes on behind the last that it committed")
TOOLS_SPEED = tools("produce: 40,000 records by ProducerPerformance, all of which ConsumerPerformance gets")
KCAT_RECORDS = kcat("produce: keys and headers come out as they went in")
KCAT_MEMBERS = kcat("groups: members join, leave and die")
SPARK_STREAM = spark("consume: a stream from the first record on and from its checkpoint, and a batch from a time on")

ROUNDS: Mapping[str, Round] = {
    "kafka-python": through_adapter("kafka-python", "cooperative-sticky"),
    "confluent-kafka": through_adapter("confluent-kafka", "cooperative-sticky"),
    "aiokafka": through_adapter("aiokafka", "roundrobin"),
    JAVA: through_adapter(JAVA, "cooperative-sticky", "java-4.3.1"),
    "Kafka's tools": {
        "create": tools("topics: created, listed, described by name and id, given partitions, deleted"),
        "produce": TOOLS_CONSOLE,
        "consume": TOOLS_CONSOLE,
        "a member joins": TOOLS_MEMBERS,
        "a member leaves": TOOLS_MEMBERS,
        "a member dies": TOOLS_MEMBERS,
        "seek by time": TOOLS_GROUP,
        "commit and go on from it": TOOLS_GROUP,
        "the broker restarts in the middle": "test_verifiable.py::test_the_broker_is_killed",
    },
    "kcat": {
        "create": Cannot("kcat has no command for it; that a topic comes with its first record is shown"),
        "produce": KCAT_RECORDS,
        "consume": KCAT_RECORDS,
        "a member joins": KCAT_MEMBERS,
        "a member leaves": KCAT_MEMBERS,
        "a member dies": KCAT_MEMBERS,
        "seek by time": kcat("consume: the last records, and from a time on"),
        "commit and go on from it": kcat("offsets: what a group has had it does not get again"),
        "the broker restarts in the middle": "test_kcat.py::test_a_restart_in_the_middle[kill]",
    },
    "PySpark": {
        "create": Cannot("Spark has no call for it; that its sink has a topic made by writing to it is shown"),
        "produce": spark("produce: a sink has its topic made, and writes keys and headers"),
        "consume": SPARK_STREAM,
        "a member joins": NO_GROUP,
        "a member leaves": NO_GROUP,
        "a member dies": NO_GROUP,
        "seek by time": SPARK_STREAM,
        "commit and go on from it": "test_spark.py::test_a_stream",
        "the broker restarts in the middle": "test_spark.py::test_a_stream",
    },
}

KAFKA_TOOLS: Mapping[str, Check | str] = {
    "TopicCommand": tools("topics: created, listed, described by name and id, given partitions, deleted"),
    "ConsoleProducer": TOOLS_CONSOLE,
    "ConsoleConsumer": TOOLS_CONSOLE,
    "ConsumerGroupCommand": TOOLS_GROUP,
    "ConfigCommand": tools("configs: of topic, set, shown, from a file, and gone"),
    "GetOffsetShell": tools("consume: first, last and latest offsets, and those of a time"),
    "DeleteRecordsCommand": tools("records: what is deleted is gone"),
    "LogDirsCommand": "test_kafka_tools.py::test_log_directories",
    "ProducerPerformance": TOOLS_SPEED,
    "ConsumerPerformance": TOOLS_SPEED,
    "VerifiableProducer": TOOLS_MESSAGES,
    "VerifiableConsumer": TOOLS_MESSAGES,
    "ClientCompatibilityTest": tools(
        "connect: what ClientCompatibilityTest is told to find it finds, and nothing else"
    ),
}
