"""ProducerPerformance and ConsumerPerformance: they count what they send and what they get."""

from __future__ import annotations

import re

from compat.checks import Stage
from compat.kafka_tools.checking import check_tools
from compat.kafka_tools.tools import Tools


@check_tools("produce: 40,000 records by ProducerPerformance, all of which ConsumerPerformance gets", quick=False)
def performance(tools: Tools, stage: Stage) -> None:
    """They count what they send and what they get."""
    tools.run("TopicCommand", "--create", "--topic", stage.name, "--partitions", "2")
    produce = ("--topic", stage.name, "--num-records", "20000", "--throughput", "-1")
    plain = tools.run("ProducerPerformance", *produce, "--record-size", "500")
    assert plain.splitlines()[-1].startswith("20000 records sent")
    payloads = stage.directory / "payloads"
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

    consume = ("--topic", stage.name, "--num-records", "40000", "--timeout", "20000")
    header, figures = tools.run("ConsumerPerformance", *consume).splitlines()[-2:]
    found = dict(zip(header.split(", "), figures.split(", "), strict=True))
    assert int(found["data.consumed.in.nMsg"]) == 40_000
    detailed = tools.run(
        "ConsumerPerformance", *consume, "--show-detailed-stats", "--reporting-interval", "20", "--group", stage.name
    )
    assert detailed.startswith("time, threadId, ")
    ends = [int(line.rpartition(":")[2]) for line in tools.run("GetOffsetShell", "--topic", stage.name).splitlines()]
    assert sum(ends) == 40_000
    values = set(consume_values(tools, stage.name))
    assert values >= {"one", "two", "three"}


def consume_values(tools: Tools, topic: str) -> list[str]:
    whole = ("--topic", topic, "--from-beginning", "--max-messages", "40000", "--timeout-ms", "20000")
    return tools.run("ConsoleConsumer", *whole).splitlines()
