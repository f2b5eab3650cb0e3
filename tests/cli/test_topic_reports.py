"""What `barnabas topics describe` makes of several brokers, in trouble and in motion; no broker is asked."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Sequence
from typing import Any

import pytest

from barnabas.cli.output import Output
from barnabas.cli.topics.checks import REPORTS
from barnabas.cli.topics.described import DescribedPartition, DescribedTopic, is_reported
from barnabas.cli.topics.describing import tell
from barnabas.client.configs import Source
from barnabas.client.topics import LogSize, PartitionState, TopicState
from barnabas.protocol.messages.describe_configs import DescribeConfigsResourceResult
from barnabas.protocol.messages.list_partition_reassignments import OngoingPartitionReassignment
from barnabas.protocol.schema import Uuid

LIVE = {1, 2, 3}


def partition(
    number: int,
    leader: int | None,
    replicas: Sequence[int],
    isr: Sequence[int],
    *,
    moving: OngoingPartitionReassignment | None = None,
    elr: Sequence[int] | None = (),
) -> DescribedPartition:
    state = PartitionState(number, leader, replicas, isr, elr, elr, [])
    first, end = (5, 15) if leader else (None, None)
    return DescribedPartition(state, moving, {node: LogSize(1000 * node, node - 1) for node in isr}, first, end)


def topic(*partitions: DescribedPartition, min_in_sync: int = 2) -> DescribedTopic:
    configs = [
        DescribeConfigsResourceResult(
            name="min.insync.replicas", value=str(min_in_sync), config_source=Source.DYNAMIC_TOPIC_CONFIG
        ),
        DescribeConfigsResourceResult(name="flush.ms", value="7", config_source=Source.STATIC_BROKER_CONFIG),
        DescribeConfigsResourceResult(name="segment.ms", value="8", config_source=Source.DEFAULT_CONFIG),
    ]
    states = [each.state for each in partitions]
    return DescribedTopic(TopicState("orders", Uuid(b"\1" * 16), False, states), configs, list(partitions))


MOVING = OngoingPartitionReassignment(
    partition_index=4, replicas=[1, 2, 3, 4], adding_replicas=[3, 4], removing_replicas=[1]
)
HEALTHY = partition(0, 1, [1, 2, 3], [1, 2, 3])
AT_MINIMUM = partition(1, 1, [1, 2, 3], [1, 2])
TOO_FEW = partition(2, 1, [1, 2, 3], [1])
LEADERLESS = partition(3, None, [1, 2], [], elr=[2])
MOVED = partition(4, 1, [1, 2, 3, 4], [1, 2], moving=MOVING)
DEAD_LEADER = partition(5, 9, [9, 1], [9, 1])
ALL = topic(HEALTHY, AT_MINIMUM, TOO_FEW, LEADERLESS, MOVED, DEAD_LEADER)


def options(*given: str, **others: Any) -> argparse.Namespace:
    """As if these options had been given."""
    known = dict.fromkeys([*REPORTS, "topics_with_overrides", "plain", "offsets"], False)
    return argparse.Namespace(**known | dict.fromkeys(given, True) | others)


@pytest.mark.parametrize(
    ("report", "numbers"),
    [
        ("under_replicated_partitions", [1, 2, 3]),
        ("unavailable_partitions", [3, 5]),
        ("under_min_isr_partitions", [2, 3]),
        ("at_min_isr_partitions", [1, 4, 5]),
    ],
)
def test_a_report_is_about_the_partitions_that_kafka_s_tool_reports(report: str, numbers: list[int]) -> None:
    found = [each.state.number for each in ALL.partitions if is_reported(ALL, each, options(report), LIVE)]
    assert found == numbers


def test_programs_find_every_key_also_where_there_is_no_leader() -> None:
    stream = io.StringIO()
    tell([ALL], options("offsets"), Output(as_json=True, stream=stream))
    (told,) = json.loads(stream.getvalue())
    assert len({tuple(each) for each in told["partitions"]}) == 1
    leaderless = told["partitions"][3]
    assert [leaderless[key] for key in ("leader", "end_offset", "messages", "size_bytes")] == [None] * 4
    assert (told["partitions"][4]["adding_replicas"], told["partitions"][4]["lag"]) == ([3, 4], 1)


def test_replicas_that_are_being_added_do_not_count_yet() -> None:
    assert MOVED.replication_factor == 2
    done = OngoingPartitionReassignment(partition_index=0, replicas=[7, 8], adding_replicas=[7, 8])
    assert partition(0, 1, [1, 2, 3], [1], moving=done).replication_factor == 3


def shown(*given: str) -> list[str]:
    stream = io.StringIO()
    tell([ALL], options(*given), Output(stream=stream))
    return stream.getvalue().splitlines()


def test_the_plain_lines_are_those_of_kafka_s_tool() -> None:
    assert shown("plain") == [
        (
            "Topic: orders\tTopicId: AQEBAQEBAQEBAQEBAQEBAQ\tPartitionCount: 6\tReplicationFactor: 3"
            "\tConfigs: flush.ms=7,min.insync.replicas=2"
        ),
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\tElr: \tLastKnownElr: ",
        "\tTopic: orders\tPartition: 1\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2\tElr: \tLastKnownElr: ",
        "\tTopic: orders\tPartition: 2\tLeader: 1\tReplicas: 1,2,3\tIsr: 1\tElr: \tLastKnownElr: ",
        "\tTopic: orders\tPartition: 3\tLeader: none\tReplicas: 1,2\tIsr: \tElr: 2\tLastKnownElr: 2",
        (
            "\tTopic: orders\tPartition: 4\tLeader: 1\tReplicas: 1,2,3,4\tIsr: 1,2"
            "\tAdding Replicas: 3,4\tRemoving Replicas: 1\tElr: \tLastKnownElr: "
        ),
        "\tTopic: orders\tPartition: 5\tLeader: 9\tReplicas: 9,1\tIsr: 9,1\tElr: \tLastKnownElr: ",
    ]


def test_the_table_shows_what_is_wrong() -> None:
    heading, configs, columns, *rows, leaderless, under = shown("offsets")
    assert heading == "orders: 6 partitions, 3 replicas, id AQEBAQEBAQEBAQEBAQEBAQ"
    assert configs == "  min.insync.replicas=2"
    assert " ".join(columns.split()) == (
        "PARTITION LEADER REPLICAS ISR ELR LAST KNOWN ELR ADDING REMOVING SIZE FIRST OFFSET END OFFSET MESSAGES LAG"
    )
    assert rows[0].split() == ["0", "1", "1,2,3", "1,2,3", "1000", "B", "5", "15", "10", "2"]
    assert rows[4].split() == ["4", "1", "1,2,3,4", "1,2", "3,4", "1", "1000", "B", "5", "15", "10", "1"]
    assert rows[3].split()[:5] == ["3", "none", "1,2", "2", "2"]
    assert leaderless.startswith("Without a leader: 3;")
    assert under == "Under-replicated: 1,2,3"
