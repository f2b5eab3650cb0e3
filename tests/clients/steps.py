"""Which test shows that a client takes a step of its round, or why that client has no such step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compat.rounds.adapter import JAVA

__all__ = ["KAFKA_TOOLS", "ROUNDS", "STEPS", "Cannot"]

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


Round = Mapping[str, str | Cannot]


def through_adapter(client: str, strategy: str) -> Round:
    """A client that takes the same round as the others, through its file with_CLIENT.py."""
    groups = f"test_groups.py::test_members_come_and_go[{client}-{strategy}]"
    records = f"test_round.py::test_records_come_out_as_they_went_in[{client}-zstd]"
    steps = (
        f"test_round.py::test_administration[{client}]",
        records,
        records,
        groups,
        groups,
        groups,
        f"test_round.py::test_positions[{client}]",
        f"test_round.py::test_commits[{client}]",
        f"test_restart.py::test_a_restart_in_the_middle[{client}-kill]",
    )
    return dict(zip(STEPS, steps, strict=True))


SPARK = "test_spark.py::test_a_stream"
NO_GROUP = Cannot(
    "Spark gives the partitions to its tasks itself and keeps offsets in its checkpoint: it joins no group"
)

ROUNDS: Mapping[str, Round] = {
    "kafka-python": through_adapter("kafka-python", "cooperative-sticky"),
    "confluent-kafka": through_adapter("confluent-kafka", "cooperative-sticky"),
    "aiokafka": through_adapter("aiokafka", "roundrobin"),
    JAVA: through_adapter(JAVA, "cooperative-sticky"),
    "Kafka's tools": {
        "create": "test_kafka_tools.py::test_topics",
        "produce": "test_kafka_tools.py::test_console",
        "consume": "test_kafka_tools.py::test_console",
        "a member joins": "test_verifiable.py::test_members_come_and_go",
        "a member leaves": "test_verifiable.py::test_members_come_and_go",
        "a member dies": "test_verifiable.py::test_members_come_and_go",
        "seek by time": "test_kafka_tools.py::test_a_group_goes_on_where_it_was",
        "commit and go on from it": "test_kafka_tools.py::test_a_group_goes_on_where_it_was",
        "the broker restarts in the middle": "test_verifiable.py::test_members_come_and_go",
    },
    "kcat": {
        "create": Cannot("kcat has no command for it; that a topic comes with its first record is shown"),
        "produce": "test_kcat.py::test_produce_and_consume[zstd]",
        "consume": "test_kcat.py::test_produce_and_consume[zstd]",
        "a member joins": "test_kcat.py::test_members_come_and_go",
        "a member leaves": "test_kcat.py::test_members_come_and_go",
        "a member dies": "test_kcat.py::test_members_come_and_go",
        "seek by time": "test_kcat.py::test_metadata_and_times",
        "commit and go on from it": "test_kcat.py::test_a_group",
        "the broker restarts in the middle": "test_kcat.py::test_a_restart_in_the_middle[kill]",
    },
    "PySpark": {
        "create": Cannot("Spark has no call for it; that its sink has a topic made by writing to it is shown"),
        "produce": SPARK,
        "consume": SPARK,
        "a member joins": NO_GROUP,
        "a member leaves": NO_GROUP,
        "a member dies": NO_GROUP,
        "seek by time": SPARK,
        "commit and go on from it": SPARK,
        "the broker restarts in the middle": SPARK,
    },
}

KAFKA_TOOLS: Mapping[str, str] = {
    "TopicCommand": "test_kafka_tools.py::test_topics",
    "ConsoleProducer": "test_kafka_tools.py::test_console",
    "ConsoleConsumer": "test_kafka_tools.py::test_console",
    "ConsumerGroupCommand": "test_kafka_tools.py::test_a_group_goes_on_where_it_was",
    "ConfigCommand": "test_kafka_tools.py::test_configs[topic]",
    "GetOffsetShell": "test_kafka_tools.py::test_offsets",
    "DeleteRecordsCommand": "test_kafka_tools.py::test_records_are_deleted",
    "LogDirsCommand": "test_kafka_tools.py::test_log_directories",
    "ProducerPerformance": "test_kafka_tools.py::test_performance",
    "ConsumerPerformance": "test_kafka_tools.py::test_performance",
    "VerifiableProducer": "test_verifiable.py::test_so_many_and_no_more",
    "VerifiableConsumer": "test_verifiable.py::test_so_many_and_no_more",
    "ClientCompatibilityTest": "test_kafka_tools.py::test_compatibility",
}
