"""Records, by the console tools, GetOffsetShell and DeleteRecordsCommand."""

from __future__ import annotations

import json
import time

from compat.checks import Stage
from compat.kafka_tools.checking import check_tools
from compat.kafka_tools.tools import Tools
from tests.clients.waiting import wait_until

__all__ = ["consume", "time_after_all"]

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


@check_tools("produce: keys, headers, each codec, one by one and together, by the console tools")
def console(tools: Tools, stage: Stage) -> None:
    """Keys, headers and codecs in, as fast as they go or each by itself; out again, all or of one partition."""
    tools.run("TopicCommand", "--create", "--topic", stage.name)
    reader = ("--reader-property", "parse.key=true", "--reader-property", "parse.headers=true")
    for codec in CODECS:
        line = f"color:red,size:7\tkey of {codec}\tvalue of {codec}\n"
        tools.run("ConsoleProducer", "--topic", stage.name, "--compression-codec", codec, *reader, stdin=line)
    before = now_ms()
    for acks in ("0", "1", "all"):
        slowly = ("--sync", "--request-required-acks", acks, "--command-property", "linger.ms=0")
        tools.run("ConsoleProducer", "--topic", stage.name, *slowly, stdin=f"acks {acks}\n")
    shown = [word for each in ("key", "headers") for word in ("--formatter-property", f"print.{each}=true")]
    expected = [f"color:red,size:7\tkey of {codec}\tvalue of {codec}" for codec in CODECS]
    assert consume(tools, stage.name, 5, "--from-beginning", *shown) == expected

    places = [
        word for each in ("partition", "offset", "timestamp") for word in ("--formatter-property", f"print.{each}=true")
    ]
    from_offset = ("--partition", "0", "--offset", "6", "--isolation-level", "read_committed")
    for number, line in enumerate(consume(tools, stage.name, 2, *from_offset, *places), 6):
        kind, partition, offset, value = line.split("\t")
        assert (partition, offset, value) == ("Partition:0", f"Offset:{number}", ["acks 1", "acks all"][number - 6])
        assert before <= int(kind.removeprefix("CreateTime:")) <= now_ms()
    included = ("--include", f"{stage.name}.*", "--from-beginning", "--max-messages", "8", "--timeout-ms", "20000")
    assert len(tools.run("ConsoleConsumer", *included).splitlines()) == 8


@check_tools("consume: first, last and latest offsets, and those of a time")
def offsets(tools: Tools, stage: Stage) -> None:
    tools.run("TopicCommand", "--create", "--topic", stage.name, "--partitions", "3")
    keyed = ("--topic", stage.name, "--reader-property", "parse.key=true")
    tools.run("ConsoleProducer", *keyed, stdin="".join(f"key {n}\t{n}\n" for n in range(40)))
    between = time_after_all()
    tools.run("ConsoleProducer", *keyed, stdin="".join(f"key {n}\t{n}\n" for n in range(40)))

    def offsets(*arguments: str) -> dict[int, int]:
        lines = tools.run("GetOffsetShell", *arguments).splitlines()
        return {
            int(part): int(offset) for topic, part, offset in (line.split(":") for line in lines) if topic == stage.name
        }

    topic = ("--topic", stage.name)
    ends = offsets(*topic)
    assert (sorted(ends), sum(ends.values())) == ([0, 1, 2], 80)
    assert offsets(*topic, "--time", "latest") == offsets(*topic, "--time", "-1") == ends
    assert set(offsets(*topic, "--time", "earliest").values()) == {0}
    assert offsets(*topic, "--time", str(between)) == {part: end // 2 for part, end in ends.items()}
    latest = offsets(*topic, "--time", "max-timestamp")
    assert all(end // 2 <= latest[part] < end for part, end in ends.items())
    assert set(offsets(*topic, "--time", "earliest-local").values()) == {0}
    assert offsets(*topic, "--partitions", "0,2") == {part: ends[part] for part in (0, 2)}
    assert offsets("--topic-partitions", f"{stage.name}:1-3", "--exclude-internal-topics") == {1: ends[1], 2: ends[2]}


@check_tools("records: what is deleted is gone")
def records_are_deleted(tools: Tools, stage: Stage) -> None:
    tools.run("TopicCommand", "--create", "--topic", stage.name)
    tools.run("ConsoleProducer", "--topic", stage.name, stdin="a\nb\nc\nd\n")
    wanted = stage.directory / "offsets.json"

    def delete(before: int) -> str:
        wanted.write_text(
            json.dumps({"version": 1, "partitions": [{"topic": stage.name, "partition": 0, "offset": before}]})
        )
        return tools.run("DeleteRecordsCommand", "--offset-json-file", str(wanted))

    assert f"partition: {stage.name}-0\tlow_watermark: 3" in delete(3)
    assert consume(tools, stage.name, 1, "--from-beginning") == ["d"]
    assert f"partition: {stage.name}-0\tlow_watermark: 4" in delete(-1)
    assert tools.run("GetOffsetShell", "--topic", stage.name, "--time", "earliest") == f"{stage.name}:0:4\n"
    assert "OffsetOutOfRange" in delete(9)
