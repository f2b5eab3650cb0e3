"""Clients of several kinds that produce and consume while their brokers are killed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from compat.rounds.adapter import ConsumerSettings
from compat.rounds.members import Member
from tests.clients.ledgers import GroupLedger, TopicLedger
from tests.clients.senders import Sender, java_sender, python_sender
from tests.clients.waiting import wait_until
from tests.kafka.classpath import KafkaMissingError, find_classpath

__all__ = ["Crowd"]


class Crowd:
    """Three producers in processes of their own, and two groups of consumers."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, directory: Path, stack: ExitStack) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._directory = directory
        self._stack = stack
        arguments = (bootstrap, topic, partitions)
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
        settings = ConsumerSettings(self._bootstrap, self._topic, group=group.name, session_timeout_ms=3_000)
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

    def ends_well(self, ledger: TopicLedger, read: Callable[[], None]) -> str:
        """All that was sent is there once and in its order, and the groups have had it; how much each has sent. `read`
        has the ledger read the topic once more."""
        for sender in self.senders:
            sender.finish()
        read()
        ledger.check_whole()
        for group in self.groups.values():
            group.wait_for_all(ledger.records)
            group.check_story(ledger.records)
        return ", ".join(f"{sender.name} {sender.sent}" for sender in self.senders)

    def wait_for(self, hurried: Sender, rounds: int) -> None:
        """Until it has seen so many more of them acknowledged."""
        enough = hurried.rounds + rounds

        def is_there() -> bool:
            for sender in self.senders:
                sender.check_runs()
            return hurried.rounds >= enough

        wait_until(is_there, f"{hurried.name} to go on")
