"""Requests of every API at every version, drawn at random, asked of a node and of a real Kafka: the answers are the
same, field by field, but for what tests/broker/exploring/known.py says and why.

A plan of requests comes of its seed. Where the answers differ, the plan is made as short as it can be, and what is
printed is what Kafka and the node have to be asked to see it again. BARNABAS_SEED runs one plan, and
BARNABAS_THOROUGH=1 some thousands of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.kafka.broker import SMALL, KafkaBroker

from .exploring.beside import Beside, Difference, Step
from .exploring.explorer import Explorer
from .exploring.known import KNOWN
from .running import RunningNode

pytestmark = [pytest.mark.java, pytest.mark.slow]

THOROUGH = os.environ.get("BARNABAS_THOROUGH") == "1"
PLANS = 3000 if THOROUGH else 60
FIRST_SEED = int(os.environ.get("BARNABAS_SEED", "1"))
SHRINKING_S = 60
MOST_MOMENTARY = 2
"""Differences that the same plan does not show again, nor once more."""
READY_S = 20

SETTINGS = {
    **SMALL,
    # Kafka answers before the topic is there, and we when it is.
    "auto.create.topics.enable": "false",
    # Records are as old as their plan says, and shall not go by themselves.
    "log.retention.ms": "-1",
    # One segment for each: one that lies before the log's start goes at once here, in Kafka at the next sweep.
    "log.roll.ms": "9223372036854775807",
}


@pytest.fixture(scope="module")
def beside(kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    theirs, ours = tmp_path_factory.mktemp("kafka"), tmp_path_factory.mktemp("ours")
    running = RunningNode(ours)
    running.settings.update({**SETTINGS, "node.id": "1"})
    with KafkaBroker(kafka_classpath, theirs, config=SETTINGS) as kafka, running as node:
        directories = str(kafka.data_directory), str(node.directory)
        both = Beside((kafka.host, kafka.port), node.address, directories)
        make_ready(both)
        yield both
        both.close()


def make_ready(both: Beside) -> None:
    """The first who asks for a group or a producer's number makes Kafka prepare for both."""
    deadline = time.monotonic() + READY_S
    for onlooker in both.onlookers:
        while onlooker.ask(FindCoordinatorRequest(coordinator_keys=["a"]), 4).coordinators[0].error_code:
            assert time.monotonic() < deadline
        while onlooker.ask(InitProducerIdRequest(transactional_id=None), 4).error_code:
            assert time.monotonic() < deadline


def test_random_requests_are_answered_as_kafka_answers_them(beside: Beside) -> None:
    explorer = Explorer(beside)
    momentary: list[str] = []
    for seed in range(FIRST_SEED, FIRST_SEED + PLANS):
        steps, found = explorer.plan(seed)
        if found:
            again = [explorer.plan(seed) for _ in range(2)]
            if any(differences for _, differences in again):
                pytest.fail(report(explorer, seed, steps, found), pytrace=False)
            # Kafka's brokers learn a moment later what its controller has decided.
            momentary.append(f"plan {seed}, step {len(steps)}: {found[0]}")
            assert len(momentary) <= MOST_MOMENTARY, "\n".join(momentary)
        if "BARNABAS_SEED" in os.environ:
            return
    unseen = [each.reason for each in KNOWN if not explorer.seen[each]]
    print(f"{PLANS} plans, {beside.comparisons} comparisons. Differences on purpose that did not show:")
    print(*unseen, sep="\n")
    print("Seen once and not again:", *momentary or ["nothing"], sep="\n")
    assert beside.comparisons > 10 * PLANS
    assert len(explorer.requests) > 30, "most APIs are asked"
    if THOROUGH:
        assert not unseen, "is it still a difference?"


def report(explorer: Explorer, seed: int, steps: list[Step], found: list[Difference]) -> str:
    connections = max(step.who for step in steps) + 1
    shortest = explorer.shrunk(steps, found[0], connections, SHRINKING_S)
    told = [f"plan {seed} (BARNABAS_SEED={seed}), step {len(steps)}:", *map(str, found), "", "asked before, at least:"]
    return "\n".join([*told, *map(str, shortest)])
