"""Kafka's VerifiableProducer and VerifiableConsumer: what the one was promised reaches the others, whatever happens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.clients.broker_process import BrokerProcess
from compat.kafka_tools.tools import Tools, Verifiable
from tests.clients.waiting import wait_until
from tests.kafka.tool_runner import ToolRunner

pytestmark = [pytest.mark.slow, pytest.mark.java]

PARTITIONS = 4

Starter = Callable[..., Verifiable]


@pytest.fixture
def verifiable(kafka_classpath: str, tmp_path: Path) -> Iterator[Starter]:
    with ExitStack() as stack:
        running: list[Verifiable] = []

        def start(tool: str, *arguments: str) -> Verifiable:
            running.append(Verifiable(kafka_classpath, tmp_path / f"{tool}-{len(running)}.log", tool, *arguments))
            stack.callback(running[-1].end, kill=True)
            return running[-1]

        yield start


def received(*members: Verifiable) -> set[str]:
    return {event["value"] for each in members for event in each.said("record_data")}


def held(member: Verifiable) -> set[int]:
    """The partitions that it has by now."""
    found: set[int] = set()
    for event in member.said("partitions_assigned"):
        found = {one["partition"] for one in event["partitions"]}
    return found


def wait_for_assignment(*members: Verifiable) -> None:
    def settled() -> bool:
        shares = [held(member) for member in members]
        return all(shares) and sorted(part for share in shares for part in share) == list(range(PARTITIONS))

    wait_until(settled, lambda: f"the partitions to be assigned: {[held(member) for member in members]}")


def test_members_come_and_go(
    verifiable: Starter, own_broker: Callable[..., BrokerProcess], kafka_tools: ToolRunner, name: str, tmp_path: Path
) -> None:
    """One joins, one dies without a word, one leaves, and the broker is killed and started again under the rest."""
    broker = own_broker()
    tools = Tools(kafka_tools, broker)
    tools.run("TopicCommand", "--create", "--topic", name, "--partitions", str(PARTITIONS))
    at = ("--bootstrap-server", broker.bootstrap, "--topic", name)
    config = tmp_path / "consumer.properties"
    config.write_text("heartbeat.interval.ms=500\n")
    group = ("--command-config", str(config), "--group-id", name, "--session-timeout", "3000", "--verbose")
    join = ("VerifiableConsumer", *at, *group, "--reset-policy", "earliest")
    producer = verifiable("VerifiableProducer", *at, "--throughput", "500", "--acks", "-1")
    dies, leaves = (verifiable(*join) for _ in range(2))
    wait_for_assignment(dies, leaves)
    stays = verifiable(*join)
    wait_for_assignment(dies, leaves, stays)
    wait_until(lambda: all(received(each) for each in (dies, leaves, stays)), "each to get records")

    state = tools.run("ConsumerGroupCommand", "--describe", "--group", name, "--state")
    assert re.search(r"127\.0\.0\.1:\d+ +\(1\) +range +Stable +3$", state, re.MULTILINE), state
    members = tools.run("ConsumerGroupCommand", "--describe", "--group", name, "--members", "--verbose")
    assigned = re.findall(rf"{re.escape(name)}:([\d,]+)", members)
    assert sorted(part for share in assigned for part in share.split(",")) == [str(n) for n in range(PARTITIONS)]

    dies.end(kill=True)
    wait_for_assignment(leaves, stays)
    leaves.end(kill=False)
    assert leaves.said("shutdown_complete")
    wait_for_assignment(stays)
    broker.restart(kill=True)
    before = len(stays.said("record_data"))

    def has_all_partitions() -> bool:
        return {event["partition"] for event in stays.said("record_data")[before:]} == set(range(PARTITIONS))

    wait_until(has_all_partitions, "the member that is left to get records of all partitions")
    producer.end(kill=False)
    sent = {event["value"] for event in producer.said("producer_send_success")}
    (data,) = producer.said("tool_data")
    assert data["acked"] == len(sent)
    everybody = (dies, leaves, stays)
    wait_until(lambda: sent <= received(*everybody), "the rest of the records")
    stays.end(kill=False)
    values: dict[tuple[int, int], str] = {}
    for event in (event for each in everybody for event in each.said("record_data")):
        place = (event["partition"], event["offset"])
        assert values.setdefault(place, event["value"]) == event["value"], "an offset has one value for ever"


def test_so_many_and_no_more(verifiable: Starter, broker: BrokerProcess, tools: Tools, name: str) -> None:
    """Prefixes, keys that repeat, times of their own; a static member that goes on from what it committed."""
    tools.run("TopicCommand", "--create", "--topic", name)
    at = ("--bootstrap-server", broker.bootstrap, "--topic", name)
    created = 1_700_000_000_000
    prefixed = ("--value-prefix", "7", "--repeating-keys", "3", "--message-create-time", str(created))
    producer = verifiable("VerifiableProducer", *at, "--max-messages", "40", "--acks", "1", *prefixed)
    wait_until(lambda: producer.process.poll() == 0, "the producer to end")
    (data,) = producer.said("tool_data")
    assert (data["sent"], data["acked"], data["target_throughput"]) == (40, 40, -1)
    assert [(one["key"], one["value"]) for one in producer.said("producer_send_success")] == [
        (str(number % 3), f"7.{number}") for number in range(40)
    ]
    consume = ("--group-id", name, "--group-instance-id", "static", "--reset-policy", "earliest", "--verbose")
    for number in range(2):
        member = verifiable("VerifiableConsumer", *at, *consume, "--max-messages", "20")
        wait_until(lambda: member.process.poll() == 0, "the consumer to end")  # noqa: B023 - it is waited for
        values = [one["value"] for one in member.said("record_data")]
        assert values[:20] == [f"7.{20 * number + each}" for each in range(20)]
        commits = [one["offsets"][0]["offset"] for one in member.said("offsets_committed") if one["success"]]
        assert commits[-1] == 20 * (number + 1)
    times = tools.run("GetOffsetShell", "--topic", name, "--time", str(created))
    assert times == f"{name}:0:0\n"
