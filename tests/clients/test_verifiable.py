"""Kafka's VerifiableProducer and VerifiableConsumer, whose broker is killed: what the one was promised reaches the
other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from compat.kafka_tools.tools import Tools, Verifiable, received, wait_for_assignment
from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import wait_until
from tests.kafka.tool_runner import ToolRunner

pytestmark = [pytest.mark.slow, pytest.mark.java]

PARTITIONS = 4


def test_the_broker_is_killed(
    kafka_classpath: str,
    own_broker: Callable[..., BrokerProcess],
    kafka_tools: ToolRunner,
    name: str,
    tmp_path: Path,
) -> None:
    """And started again, under a producer and two members, each of which gets records of its partitions again."""
    broker = own_broker()
    Tools(kafka_tools, broker).run("TopicCommand", "--create", "--topic", name, "--partitions", str(PARTITIONS))
    at = ("--bootstrap-server", broker.bootstrap, "--topic", name)
    config = tmp_path / "consumer.properties"
    config.write_text("heartbeat.interval.ms=500\n")
    group = ("--command-config", str(config), "--group-id", name, "--session-timeout", "3000", "--verbose")
    with ExitStack() as stack:

        def start(tool: str, number: int, *arguments: str) -> Verifiable:
            running = Verifiable(kafka_classpath, tmp_path / f"{tool}-{number}.log", tool, *at, *arguments)
            stack.callback(running.end, kill=True)
            return running

        producer = start("VerifiableProducer", 0, "--throughput", "500", "--acks", "-1")
        members = [start("VerifiableConsumer", number, *group, "--reset-policy", "earliest") for number in range(2)]
        wait_for_assignment(members, PARTITIONS)
        wait_until(lambda: all(received(each) for each in members), "each to get records")
        broker.restart(kill=True)
        before = [len(each.said("record_data")) for each in members]

        def have_all_partitions() -> bool:
            events = [
                event for each, seen in zip(members, before, strict=True) for event in each.said("record_data")[seen:]
            ]
            return {event["partition"] for event in events} == set(range(PARTITIONS))

        wait_until(have_all_partitions, "the members to get records of all partitions")
        producer.end(kill=False)
        sent = {event["value"] for event in producer.said("producer_send_success")}
        (data,) = producer.said("tool_data")
        assert data["acked"] == len(sent)
        wait_until(lambda: sent <= received(*members), "the rest of the records")
        values: dict[tuple[int, int], str] = {}
        for event in (event for each in members for event in each.said("record_data")):
            place = (event["partition"], event["offset"])
            assert values.setdefault(place, event["value"]) == event["value"], "an offset has one value for ever"
