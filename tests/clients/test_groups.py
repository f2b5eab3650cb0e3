"""Groups of several members, each a program: who joins, who leaves, who dies without a word, and who comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from compat.rounds.adapter import JAVA, Client, ConsumerSettings, load
from tests.clients.broker_process import BrokerProcess
from compat.rounds.members import Member, wait_for_assignment, wait_for_values
from tests.clients.parameters import EACH_CLIENT
from tests.clients.waiting import wait_until

pytestmark = pytest.mark.slow

PARTITIONS = 4
HAVING = [
    ("kafka-python", "range"),
    ("kafka-python", "cooperative-sticky"),
    ("confluent-kafka", "range"),
    ("confluent-kafka", "cooperative-sticky"),
    ("aiokafka", "roundrobin"),  # it has no cooperative one
    pytest.param(JAVA, "range", marks=pytest.mark.java),
    pytest.param(JAVA, "cooperative-sticky", marks=pytest.mark.java),
]

Starter = Callable[..., Member]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """Starts a member; at the end of the test all die."""
    numbers = count()
    with ExitStack() as stack:

        def started(client: str, broker: BrokerProcess, group: str, **settings: Any) -> Member:
            number = next(numbers)
            whole = ConsumerSettings(
                broker.bootstrap,
                group,
                group=group,
                client_id=f"member-{number}",
                **{"session_timeout_ms": 1_500, **settings},
            )
            return stack.enter_context(Member(client, whole, tmp_path / f"member-{number}.log"))

        yield started


class Sender:
    """Sends numbered values to all partitions in turn."""

    def __init__(self, client: Client, broker: BrokerProcess, topic: str) -> None:
        self._topic = topic
        self._producer = client.produce(broker.bootstrap)
        self.sent: list[str] = []

    def send(self, how_many: int) -> list[str]:
        values = [str(number) for number in range(len(self.sent), len(self.sent) + how_many)]
        for value in values:
            self._producer.send(self._topic, value.encode(), partition=int(value) % PARTITIONS)
        self._producer.flush()
        self.sent += values
        return values

    def close(self) -> None:
        self._producer.close()


@pytest.fixture
def senders() -> Iterator[Callable[..., Sender]]:
    with ExitStack() as stack:

        def made(client: Client, broker: BrokerProcess, topic: str) -> Sender:
            admin = client.administer(broker.bootstrap)
            admin.create_topic(topic, PARTITIONS)
            admin.close()
            sender = Sender(client, broker, topic)
            stack.callback(sender.close)
            return sender

        yield made


def check_once(members: list[Member], values: list[str]) -> None:
    """Nobody is joining or leaving: each value reaches one member, once, in the order of its partition."""
    wait_for_values(members, values)
    received = [value for member in members for value in member.values if value in set(values)]
    assert sorted(received) == sorted(values)
    for member in members:
        for partition in range(PARTITIONS):
            offsets = [offset for at, offset, value in member.received if at == partition and value in set(values)]
            assert offsets == sorted(offsets)


@pytest.mark.parametrize(("name_of_client", "strategy"), HAVING)
def test_members_come_and_go(
    name_of_client: str,
    strategy: str,
    broker: BrokerProcess,
    name: str,
    start: Starter,
    senders: Callable[..., Sender],
) -> None:
    client = load(name_of_client)
    sender = senders(client, broker, name)
    first, second, third = members = [start(name_of_client, broker, name, strategy=strategy) for _ in range(3)]
    wait_for_assignment(members, PARTITIONS)
    check_once(members, sender.send(100))

    second.die()  # after its session's timeout the others have everything
    wait_for_assignment([first, third], PARTITIONS)
    after_death = sender.send(100)
    check_once([first, third], after_death)

    third.leave()
    wait_for_assignment([first], PARTITIONS)
    check_once([first], sender.send(100))

    fourth = start(name_of_client, broker, name, strategy=strategy)
    wait_for_assignment([first, fourth], PARTITIONS)
    check_once([first, fourth], sender.send(100))
    wait_for_values([*members, fourth], sender.sent)


@pytest.mark.parametrize("name_of_client", EACH_CLIENT)
def test_a_static_member_comes_back_to_what_it_had(
    name_of_client: str, broker: BrokerProcess, name: str, start: Starter, senders: Callable[..., Sender]
) -> None:
    """Within its session, and without a rebalance: the other member is never told anything."""
    client = load(name_of_client)
    sender = senders(client, broker, name)
    settings = {"session_timeout_ms": 30_000}
    stays = start(name_of_client, broker, name, instance="stays", **settings)
    goes = start(name_of_client, broker, name, instance="goes", **settings)
    wait_for_assignment([stays, goes], PARTITIONS)
    check_once([stays, goes], sender.send(40))
    had, told = set(goes.assigned), stays.assignments

    goes.die()
    back = start(name_of_client, broker, name, instance="goes", **settings)
    wait_until(lambda: back.assigned == had, "the member to come back")
    check_once([stays, back], sender.send(40))
    assert stays.assignments == told


@pytest.mark.parametrize("name_of_client", EACH_CLIENT)
def test_a_group_outlives_the_broker(
    name_of_client: str,
    own_broker: Callable[..., BrokerProcess],
    name: str,
    start: Starter,
    senders: Callable[..., Sender],
) -> None:
    """It is stopped, then killed; both times the members go on where they were, and no record is lost."""
    broker = own_broker()
    client = load(name_of_client)
    sender = senders(client, broker, name)
    members = [start(name_of_client, broker, name, session_timeout_ms=6_000) for _ in range(2)]
    wait_for_assignment(members, PARTITIONS)
    wait_for_values(members, sender.send(100))
    for kill in (False, True):
        broker.restart(kill=kill)
        values = sender.send(100)
        wait_for_values(members, values)
    wait_for_assignment(members, PARTITIONS)
    check_once(members, sender.send(100))
