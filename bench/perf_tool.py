"""`barnabas perf produce` beside kafka-producer-perf-test, against the same brokers, in one run and in turns:
`make bench-tools`.

Each cell is the median of the rounds of what a tool says of itself, so that neither a JVM's start nor Python's counts.
Kafka's tool runs with the options of its own script (G1, heap 512 MiB). A Barnabas and then a Kafka 4.3.1, each on a
fresh directory; the tools write to the same topic of 8 partitions in turns. --smoke is one short round, to see that it
works.
"""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for tests/kafka, which knows how to run Kafka

from bench.broker import Running, barnabas, create_topic, kafka  # noqa: E402
from bench.sound import sound  # noqa: E402
from tests.kafka.classpath import find_classpath  # noqa: E402

TOPIC = "load"
CLIENTS = ("confluent-kafka", "kafka-python")
JVM = ("-Xmx512M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")


class Plan(NamedTuple):
    sizes: tuple[tuple[int, int], ...]
    """Bytes of a record, and how many records."""
    slower: int
    """The slow client sends so large a part, or a round would take minutes."""
    rounds: int


FULL = Plan(((100, 2_000_000), (1000, 500_000)), slower=20, rounds=3)
SMOKE = Plan(((100, 5000),), slower=5, rounds=1)


def kafkas_tool(broker: Running, size: int, count: int) -> float:
    """Records a second."""
    log = ROOT / "tests" / "kafka" / "log4j2.properties"
    done = subprocess.run(
        [
            *("java", *JVM, f"-Dlog4j2.configurationFile={log}", "-cp", find_classpath()),
            *("org.apache.kafka.tools.ProducerPerformance", "--bootstrap-server", f"{broker.host}:{broker.port}"),
            *("--topic", TOPIC, "--num-records", str(count), "--record-size", str(size), "--throughput", "-1"),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    found = re.search(rf"^{count} records sent, ([\d.]+) records/sec", done.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"kafka-producer-perf-test said no rate:\n{done.stdout}{done.stderr}")
    return float(found[1])


def ours(broker: Running, size: int, count: int, client: str) -> float:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "barnabas.cli", "perf", "produce", TOPIC, "--client", client, "--json"),
            *("--bootstrap-server", f"{broker.host}:{broker.port}"),
            *("--num-records", str(count), "--record-size", str(size)),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    told = json.loads(done.stdout)
    assert told["records"] == count, told
    return float(told["records_per_second"])


def compare(name: str, broker: Running, size: int, count: int, plan: Plan) -> None:
    rates: dict[str, list[float]] = {"kafka": [], **{client: [] for client in CLIENTS}}
    for _ in range(plan.rounds):
        rates["kafka"].append(kafkas_tool(broker, size, count))
        rates["confluent-kafka"].append(ours(broker, size, count, "confluent-kafka"))
        rates["kafka-python"].append(ours(broker, size, count // plan.slower, "kafka-python"))
    sound(f"{name}, {size} bytes", *(rate for each in rates.values() for rate in each))
    middle = {tool: statistics.median(each) for tool, each in rates.items()}
    cells = [f"{middle['kafka']:,.0f}"]
    cells += [f"{middle[client]:,.0f} | {middle[client] / middle['kafka']:.2f}" for client in CLIENTS]
    print(f"| {name} | {size} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    plan = SMOKE if parser.parse_args().smoke else FULL
    print(f"CPython {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores; records a second\n")
    print("| broker | record bytes | Kafka's tool | perf, confluent-kafka | of it | perf, kafka-python | of it |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as root:
        # One after the other: two brokers would share the machine with two tools.
        for name, start in (("Barnabas", barnabas), ("Kafka", kafka)):
            with start(Path(root, name)) as broker:
                create_topic(broker)
                for size, count in plan.sizes:
                    compare(name, broker, size, count, plan)


if __name__ == "__main__":
    main()
