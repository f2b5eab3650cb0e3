"""VerifiableProducer and VerifiableConsumer."""

from __future__ import annotations

import re

from compat.checks import Stage
from compat.kafka_tools.checking import check_tools, create
from compat.kafka_tools.tools import Tools, Verifiable, received, wait_for_assignment
from tests.clients.waiting import wait_until
from tests.kafka.classpath import find_classpath

PARTITIONS = 4


def verifiable(stage: Stage, tool: str, *arguments: str) -> Verifiable:
    """It ends with the check."""
    log = stage.directory / f"{tool}-{len(list(stage.directory.iterdir()))}.log"
    running = Verifiable(find_classpath(), log, tool, *arguments)
    stage.until_the_end.callback(running.end, kill=True)
    return running


@check_tools("offsets: VerifiableConsumer, a static member, goes on behind the last that it committed")
def so_many(tools: Tools, stage: Stage) -> None:
    """Prefixes, keys that repeat, times of their own; a static member that goes on from what it committed."""
    tools.run("TopicCommand", "--create", "--topic", stage.name)
    at = ("--bootstrap-server", stage.bootstrap, "--topic", stage.name)
    created = 1_700_000_000_000
    prefixed = ("--value-prefix", "7", "--repeating-keys", "3", "--message-create-time", str(created))
    producer = verifiable(stage, "VerifiableProducer", *at, "--max-messages", "40", "--acks", "1", *prefixed)
    wait_until(lambda: producer.process.poll() == 0, "the producer to end")
    (data,) = producer.said("tool_data")
    assert (data["sent"], data["acked"], data["target_throughput"]) == (40, 40, -1)
    assert [(one["key"], one["value"]) for one in producer.said("producer_send_success")] == [
        (str(number % 3), f"7.{number}") for number in range(40)
    ]
    consume = ("--group-id", stage.name, "--group-instance-id", "static", "--reset-policy", "earliest", "--verbose")
    for number in range(2):
        member = verifiable(stage, "VerifiableConsumer", *at, *consume, "--max-messages", "20")
        wait_until(lambda: member.process.poll() == 0, "the consumer to end")  # noqa: B023 - it is waited for
        values = [one["value"] for one in member.said("record_data")]
        assert values[:20] == [f"7.{20 * number + each}" for each in range(20)]
        commits = [one["offsets"][0]["offset"] for one in member.said("offsets_committed") if one["success"]]
        assert commits[-1] == 20 * (number + 1)
    times = tools.run("GetOffsetShell", "--topic", stage.name, "--time", str(created))
    assert times == f"{stage.name}:0:0\n"


@check_tools("groups: VerifiableConsumers join, leave and die, and get what VerifiableProducer was promised")
def members(tools: Tools, stage: Stage) -> None:
    create(tools, stage.name, "--partitions", str(PARTITIONS))
    at = ("--bootstrap-server", stage.bootstrap, "--topic", stage.name)
    config = stage.directory / "consumer.properties"
    config.write_text("heartbeat.interval.ms=500\n")
    group = ("--command-config", str(config), "--group-id", stage.name, "--session-timeout", "3000", "--verbose")
    join = ("VerifiableConsumer", *at, *group, "--reset-policy", "earliest")
    producer = verifiable(stage, "VerifiableProducer", *at, "--throughput", "500", "--acks", "-1")
    dies, leaves = (verifiable(stage, *join) for _ in range(2))
    wait_for_assignment([dies, leaves], PARTITIONS)
    stays = verifiable(stage, *join)
    wait_for_assignment([dies, leaves, stays], PARTITIONS)
    wait_until(lambda: all(received(each) for each in (dies, leaves, stays)), "each to get records")

    state = tools.run("ConsumerGroupCommand", "--describe", "--group", stage.name, "--state")
    assert re.search(r"127\.0\.0\.1:\d+ +\(1\) +range +Stable +3$", state, re.MULTILINE), state
    told = tools.run("ConsumerGroupCommand", "--describe", "--group", stage.name, "--members", "--verbose")
    assigned = re.findall(rf"{re.escape(stage.name)}:([\d,]+)", told)
    assert sorted(part for share in assigned for part in share.split(",")) == [str(n) for n in range(PARTITIONS)]

    dies.end(kill=True)
    wait_for_assignment([leaves, stays], PARTITIONS)
    leaves.end(kill=False)
    assert leaves.said("shutdown_complete")
    wait_for_assignment([stays], PARTITIONS)
    producer.end(kill=False)
    sent = {event["value"] for event in producer.said("producer_send_success")}
    (data,) = producer.said("tool_data")
    assert data["acked"] == len(sent)
    wait_until(lambda: sent <= received(dies, leaves, stays), "the rest of the records")
