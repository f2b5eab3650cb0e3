"""Kafka's own performance tools, with the options of their scripts for the JVM, and what they print as numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bench.side import Side
from tests.kafka.classpath import find_classpath, java_command

__all__ = [
    "consume",
    "end_to_end_ms",
    "produce",
    "producer_command",
    "read_consumed",
    "read_end_to_end",
    "read_produced",
]

HEAP_MIB = 512
UNBOUND = -1


@dataclass(frozen=True, slots=True)
class Load:
    """What a producer sends. `warm_up` records more go first, which the tool leaves out of its rate."""

    topic: str
    records: int
    record_bytes: int = 100
    warm_up: int = 0
    a_second: int = UNBOUND

    @property
    def sent(self) -> int:
        return self.records + self.warm_up


def produce(side: Side, load: Load, **properties: str) -> float:
    """Records a second."""
    return read_produced(_run(side, "ProducerPerformance", _producer_words(side, load, properties)), load.records)


def producer_command(side: Side, load: Load, **properties: str) -> list[str]:
    """For whoever has it run beside something else."""
    words = _producer_words(side, load, properties)
    side.note(side.spoken("kafka-producer-perf-test.sh", words))
    return _command(side, "ProducerPerformance", words)


def _producer_words(side: Side, load: Load, properties: dict[str, str]) -> list[str]:
    given = {"acks": "all", **{key.replace("_", "."): value for key, value in properties.items()}}
    return [
        *("--bootstrap-server", side.bootstrap, "--topic", load.topic, "--num-records", str(load.sent)),
        *("--record-size", str(load.record_bytes), "--throughput", str(load.a_second)),
        *(("--warmup-records", str(load.warm_up)) if load.warm_up else ()),
        *("--command-property", *(f"{key}={value}" for key, value in given.items())),
    ]


def read_produced(text: str, records: int) -> float:
    """Of the line about all of them, or of that about those after the warm-up."""
    found = re.search(rf"^{records} (?:steady state )?records sent, ([\d.]+) records/sec", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"kafka-producer-perf-test.sh gave no rate of {records} records: {text[-1000:]!r}")
    return float(found[1])


def consume(side: Side, topic: str, records: int) -> float:
    """Records a second, once the group has its partitions."""
    words = ["--bootstrap-server", side.bootstrap, "--topic", topic, "--num-records", str(records)]
    return read_consumed(_run(side, "ConsumerPerformance", words), records)


def read_consumed(text: str, records: int) -> float:
    names, _, values = text.strip().rpartition("\n")
    told = dict(zip(names.rpartition("\n")[2].split(", "), values.split(", "), strict=False))
    if "fetch.nMsg.sec" not in told or int(told["data.consumed.in.nMsg"]) < records:
        raise ValueError(f"kafka-consumer-perf-test.sh has not read {records} records: {text[-1000:]!r}")
    return float(told["fetch.nMsg.sec"])


def end_to_end_ms(side: Side, topic: str, records: int, record_bytes: int) -> float:
    """The average: its percentiles are whole milliseconds, and would be 0."""
    words = ["--bootstrap-server", side.bootstrap, "--topic", topic, "--num-records", str(records)]
    words += ["--producer-acks", "all", "--record-size", str(record_bytes)]
    return read_end_to_end(_run(side, "EndToEndLatency", words))


def read_end_to_end(text: str) -> float:
    found = re.search(r"^Avg latency: ([\d.]+) ms$", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"kafka-e2e-latency.sh gave no average: {text[-1000:]!r}")
    return float(found[1])


SCRIPTS = {
    "ProducerPerformance": "kafka-producer-perf-test.sh",
    "ConsumerPerformance": "kafka-consumer-perf-test.sh",
    "EndToEndLatency": "kafka-e2e-latency.sh",
}


def _run(side: Side, main: str, words: Sequence[str]) -> str:
    return side.run(_command(side, main, words), side.spoken(SCRIPTS[main], words))


def _command(side: Side, main: str, words: Sequence[str]) -> list[str]:
    java = java_command(find_classpath(), heap_mib=HEAP_MIB, as_shipped=side.as_shipped)
    return [*java, f"org.apache.kafka.tools.{main}", *words]
