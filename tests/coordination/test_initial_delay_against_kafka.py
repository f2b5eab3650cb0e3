"""How long a new group waits for its members: the deadlines that we set, beside the time that Kafka takes."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from barnabas.protocol.messages.join_group import JoinGroupResponse
from tests.coordination.asking import parse_request
from tests.coordination.beside_kafka import DEADLINE_S, KAFKA_CONFIG, KAFKA_SETTINGS, Connection
from tests.coordination.coordinator import START_MS, Coordinator
from tests.coordination.test_against_kafka import wait_for_coordinator
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

pytestmark = [pytest.mark.java, pytest.mark.slow]

DELAY_MS = 1500
LATE_MS = 1000
GROUPS = {
    "alone": ["JoinGroup.3 rebalance=60000"],
    "two": ["JoinGroup.3 rebalance=60000", "JoinGroup.3 rebalance=60000"],
    "short": ["JoinGroup.3 rebalance=2000", "JoinGroup.3 rebalance=60000"],
    "shorter": ["JoinGroup.3 rebalance=1000", "JoinGroup.3 rebalance=60000"],
    "pending": ["JoinGroup.5 rebalance=60000", "JoinGroup.3 rebalance=60000"],
}
"""What the members of each group ask, one directly after the other."""


def our_delays() -> dict[str, int]:
    """From the first JoinGroup to the answers, and then what is answered."""
    coordinator = Coordinator(replace(KAFKA_CONFIG, initial_rebalance_delay_ms=DELAY_MS))
    waiting: dict[str, str] = {}
    for group_id, members in GROUPS.items():
        for number, asked in enumerate(members):
            request, version = parse_request(f"{asked} group={group_id}", lambda _: None)
            _, waits_as = coordinator.ask(request, version, client_id=f"c{number}")
            if waits_as is not None:
                waiting[waits_as] = group_id
    delays: dict[str, int] = {}
    while waiting:
        coordinator.advance(10)
        for name in coordinator.released:
            delays[waiting.pop(name)] = coordinator.now_ms - START_MS
        coordinator.released.clear()
    return delays


def test_a_new_group_waits_as_long_as_kafkas(kafka_classpath: str) -> None:
    expected = our_delays()
    assert expected == {"alone": 1500, "two": 3000, "short": 2000, "shorter": 1500, "pending": 1500}
    settings = {**KAFKA_SETTINGS, "group.initial.rebalance.delay.ms": str(DELAY_MS)}
    with KafkaBroker(kafka_classpath, config=settings) as broker:
        with RawClient(broker.host, broker.port) as client:
            wait_for_coordinator(client)
            waiting: list[tuple[str, float, Connection]] = []
            for group_id, members in GROUPS.items():
                begun = time.monotonic()
                for number, asked in enumerate(members):
                    connection = Connection(broker.host, broker.port, f"c{number}")
                    connection.send(*parse_request(f"{asked} group={group_id}", lambda _: None))
                    waiting.append((group_id, begun, connection))
                    if number + 1 < len(members):
                        wait_for_group(client, group_id)
        waiting.sort(key=lambda each: expected[each[0]])
        for group_id, begun, connection in waiting:
            answer = connection.receive()
            connection.close()
            assert isinstance(answer, JoinGroupResponse)
            if answer.error_code == ErrorCode.NONE:
                took_ms = (time.monotonic() - begun) * 1000
                assert expected[group_id] - 50 <= took_ms <= expected[group_id] + LATE_MS, group_id


def wait_for_group(client: RawClient, group_id: str) -> None:
    """Until the first member is in, or about to be: it says for how long the group may wait."""
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        answer = client.ask(DescribeGroupsRequest(groups=[group_id]), 5, DescribeGroupsResponse)
        if answer.groups[0].group_state != "Dead":
            return
    raise AssertionError(f"Kafka has no group {group_id}")
