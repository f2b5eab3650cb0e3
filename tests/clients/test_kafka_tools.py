"""Of Kafka's own command line tools, those whose answers only the broker's own directory can prove right."""

from __future__ import annotations

import json

import pytest

from compat.kafka_tools.tools import Tools
from tests.clients.broker_process import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.java]


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
