"""Every option that Kafka's tools name in their help is taken by ours."""

from __future__ import annotations

import re

import pytest

from barnabas.cli.commands import Command, find
from barnabas.cli.main import parser_of
from tests.cli.beside import Side

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOOLS = {
    "kafka-acls.sh": "AclCommand",
    "kafka-broker-api-versions.sh": "BrokerApiVersionsCommand",
    "kafka-client-metrics.sh": "ClientMetricsCommand",
    "kafka-configs.sh": "ConfigCommand",
    "kafka-console-consumer.sh": "ConsoleConsumer",
    "kafka-console-producer.sh": "ConsoleProducer",
    "kafka-consumer-groups.sh": "ConsumerGroupCommand",
    "kafka-delete-records.sh": "DeleteRecordsCommand",
    "kafka-get-offsets.sh": "GetOffsetShell",
    "kafka-groups.sh": "GroupsCommand",
    "kafka-leader-election.sh": "LeaderElectionCommand",
    "kafka-reassign-partitions.sh": "reassign.ReassignPartitionsCommand",
    "kafka-share-groups.sh": "consumer.group.ShareGroupCommand",
    "kafka-topics.sh": "TopicCommand",
}


@pytest.mark.parametrize("tool", TOOLS)
def test_every_option_of_kafka_s_tool_is_taken(ours: Side, tool: str) -> None:
    told = ours.tool(TOOLS[tool], "--help")
    theirs = set(re.findall(r"^(--[a-z][a-z.-]+)", told.out + told.err, re.MULTILINE))
    assert len(theirs) > 3, told
    name, command, _ = find([tool])
    assert isinstance(command, Command)
    parser = parser_of(name, command)
    mine = {option for action in parser._actions for option in action.option_strings}
    assert theirs - mine == set()
