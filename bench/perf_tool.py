"""`barnabas perf produce` beside kafka-producer-perf-test, against the same brokers, in one run and in turns:
`make bench-tools`.

Each cell is the median of the rounds of what a tool says of itself, so that neither a JVM's start nor Python's counts.
Kafka's tool runs with the options of its own script (G1, heap 512 MiB). A Barnabas and then a Kafka 4.3.1, each on a
fresh directory; the tools write to the same topic of 8 partitions in turns. --smoke is one short round, to see that it
works.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import NamedTuple

from bench import kafkas_tools
from bench.family import started
from bench.figures import median
from bench.kafkas_tools import Load
from bench.machine import load_average, machine, versions
from bench.side import Side, run_program
from bench.sound import sound
from compat.brokers import BARNABAS, KAFKA

TOPIC, PARTITIONS = "load", 8
CLIENTS = ("confluent-kafka", "kafka-python")


class Plan(NamedTuple):
    sizes: tuple[tuple[int, int], ...]
    """Bytes of a record, and how many records."""
    slower: int
    """The slow client sends so large a part, or a round would take minutes."""
    rounds: int


FULL = Plan(((100, 2_000_000), (1000, 500_000)), slower=20, rounds=3)
SMOKE = Plan(((100, 5000),), slower=5, rounds=1)


def kafkas_tool(side: Side, record_bytes: int, count: int) -> float:
    """Records a second."""
    return kafkas_tools.produce(side, Load(TOPIC, count, record_bytes))


def ours(side: Side, record_bytes: int, count: int, client: str) -> float:
    words = ["--client", client, "--json", "--bootstrap-server", side.bootstrap]
    words += ["--num-records", str(count), "--record-size", str(record_bytes)]
    told = json.loads(run_program([sys.executable, "-m", "barnabas.cli", "perf", "produce", TOPIC, *words]))
    assert told["records"] == count, told
    return float(told["records_per_second"])


def compare(side: Side, record_bytes: int, count: int, plan: Plan) -> None:
    rates: dict[str, list[float]] = {"kafka": [], **{client: [] for client in CLIENTS}}
    for _ in range(plan.rounds):
        rates["kafka"].append(kafkas_tool(side, record_bytes, count))
        rates["confluent-kafka"].append(ours(side, record_bytes, count, "confluent-kafka"))
        rates["kafka-python"].append(ours(side, record_bytes, count // plan.slower, "kafka-python"))
    sound(f"{side.name}, {record_bytes} bytes", *(rate for each in rates.values() for rate in each))
    middle = {tool: median(each) for tool, each in rates.items()}
    cells = [f"{middle['kafka']:,.0f}"]
    cells += [f"{middle[client]:,.0f} | {middle[client] / middle['kafka']:.2f}" for client in CLIENTS]
    print(f"| {side.name} | {record_bytes} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    plan = SMOKE if parser.parse_args().smoke else FULL
    print(f"{machine()}; {versions()}; load {load_average():.1f}; records a second\n")
    print("| broker | record bytes | Kafka's tool | perf, confluent-kafka | of it | perf, kafka-python | of it |")
    print("|---|---|---|---|---|---|---|")
    for which in (BARNABAS, KAFKA):
        # One after the other: two brokers would share the machine with two tools.
        with started(which) as side:
            side.create(TOPIC, PARTITIONS)
            for record_bytes, count in plan.sizes:
                compare(side, record_bytes, count, plan)


if __name__ == "__main__":
    main()
