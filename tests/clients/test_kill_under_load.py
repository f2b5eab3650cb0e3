"""kill -9 of a broker, fifty times, under three kinds of idempotent producers and two consumer groups: what was
acknowledged is there once and in its order, and the groups go on from their commits.

The moments of killing are drawn: BARNABAS_SEED=N draws the same ones again.
"""

from __future__ import annotations

import os
import random
import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from compat.rounds.adapter import ConsumerSettings, load
from compat.rounds.members import Member
from tests.clients.broker_process import BrokerProcess
from tests.clients.ledgers import GroupLedger, TopicLedger
from tests.clients.senders import Sender, java_sender, python_sender
from tests.clients.waiting import wait_until
from tests.kafka.classpath import KafkaMissingError, find_classpath

KILLS = 50
PARTITIONS = 3
A_MEMBER_DIES = 8
"""Every so many kills, together with the broker: somebody has to take over what it had committed."""
MOST_ROUNDS = 8
"""Of some dozens of records, before the next kill."""

BUSY = {
    "log_flush_offset_checkpoint_interval_ms": "20",
    "replica_high_watermark_checkpoint_interval_ms": "20",
    "offsets_topic_segment_bytes": str(1 << 20),
}
"""So that kills meet duties at work."""


class Crowd:
    """All clients of one broker."""

    def __init__(self, broker: BrokerProcess, topic: str, directory: Path, stack: ExitStack) -> None:
        self._broker = broker
        self._topic = topic
        self._directory = directory
        self._stack = stack
        arguments = (broker.bootstrap, topic, PARTITIONS)
        senders = [
            python_sender(client, *arguments, directory / f"{client}.log")
            for client in ("kafka-python", "confluent-kafka")
        ]
        try:
            senders.append(java_sender(find_classpath(), *arguments, directory / "java.log"))
        except KafkaMissingError:
            senders.append(python_sender("aiokafka", *arguments, directory / "aiokafka.log"))
        self.senders: list[Sender] = [stack.enter_context(sender) for sender in senders]
        self.groups = {"confluent-kafka": GroupLedger(f"{topic}-1"), "kafka-python": GroupLedger(f"{topic}-2")}
        for client in ("confluent-kafka", "confluent-kafka", "kafka-python"):
            self.add_member(client)

    def add_member(self, client: str) -> None:
        group = self.groups[client]
        settings = ConsumerSettings(self._broker.bootstrap, self._topic, group=group.name, session_timeout_ms=3_000)
        log = self._directory / f"{group.name}-{len(group.members)}.log"
        group.members.append(self._stack.enter_context(Member(client, settings, log)))

    def lose_member(self, client: str) -> None:
        self.groups[client].members[-1].die()

    def replace_member(self, client: str) -> None:
        """By one that has been given records. kafka-python's consumer may stay silent for ever if its very first
        connection breaks, which is no broker's doing."""
        self.add_member(client)
        member = self.groups[client].members[-1]
        wait_until(lambda: member.received, f"a new member of {self.groups[client].name} to receive something")

    def wait_for(self, hurried: Sender, rounds: int) -> None:
        """Until it has seen so many more of them acknowledged."""
        enough = hurried.rounds + rounds

        def is_there() -> bool:
            for sender in self.senders:
                sender.check_runs()
            return hurried.rounds >= enough

        wait_until(is_there, f"{hurried.name} to go on")


@pytest.mark.slow
def test_fifty_kills(
    own_broker: Callable[..., BrokerProcess],
    name: str,
    tmp_path: Path,
    figure: Callable[[str], None],
) -> None:
    seed = int(os.environ.get("BARNABAS_SEED") or secrets.randbelow(1 << 32))
    figure(f"BARNABAS_SEED={seed}")
    chance = random.Random(seed)
    began = time.monotonic()
    broker = own_broker(**BUSY)
    admin = load("confluent-kafka").administer(broker.bootstrap)
    admin.create_topic(name, PARTITIONS, {"segment.bytes": str(1 << 20), "retention.ms": "-1"})
    admin.close()
    with ExitStack() as stack:
        crowd = Crowd(broker, name, tmp_path, stack)
        ledger = TopicLedger(name, PARTITIONS, crowd.senders)
        wait_until(lambda: all(sender.rounds for sender in crowd.senders), "all to produce")
        wait_until(lambda: all(group.committed() for group in crowd.groups.values()), "all to consume")
        for number in range(KILLS):
            crowd.wait_for(chance.choice(crowd.senders), chance.randint(0, MOST_ROUNDS))
            acknowledged = [len(sender.acknowledged) for sender in crowd.senders]
            floors = {group.name: group.committed() for group in crowd.groups.values()}
            broker.kill()
            widowed = chance.choice(list(crowd.groups)) if number % A_MEMBER_DIES == A_MEMBER_DIES - 1 else None
            if widowed is not None:
                crowd.lose_member(widowed)
            broker.start()
            ledger.read(broker)
            ledger.check_acknowledged(acknowledged)
            for group in crowd.groups.values():
                group.check_commits(broker, name, floors[group.name])
            if widowed is not None:
                crowd.replace_member(widowed)
        for sender in crowd.senders:
            sender.finish()
        ledger.read(broker)
        ledger.check_whole()
        for group in crowd.groups.values():
            group.wait_for_all(ledger.records)
            group.check_story(ledger.records)
    sent = ", ".join(f"{sender.name} {sender.sent}" for sender in crowd.senders)
    figure(f"{KILLS} kills in {time.monotonic() - began:.0f} s; records, each there once and in order: {sent}")
    assert min(sender.rounds for sender in crowd.senders) > KILLS / 2
