"""What the checks of a round share: a client, and what it makes on a stage."""

from __future__ import annotations

from typing import Any

from compat.checks import Stage
from compat.rounds.adapter import Administering, ConsumerSettings, Consuming, Producing, load
from tests.clients.waiting import wait_until

__all__ = ["LONG_AGO", "Round"]

LONG_AGO = 1_700_000_000_000


class Round:
    """Of one client."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.client = load(name)

    def admin(self, stage: Stage) -> Administering:
        made = self.client.administer(stage.bootstrap)
        stage.until_the_end.callback(made.close)
        return made

    def created(self, stage: Stage, partitions: int = 1) -> Administering:
        """The topic is called as the stage is."""
        admin = self.admin(stage)
        admin.create_topic(stage.name, partitions)
        wait_until(lambda: stage.name in admin.topics(), "the topic to come")
        return admin

    def producer(self, stage: Stage, **settings: Any) -> Producing:
        made = self.client.produce(stage.bootstrap, **settings)
        stage.until_the_end.callback(made.close)
        return made

    def settings(self, stage: Stage, **settings: Any) -> ConsumerSettings:
        return ConsumerSettings(stage.bootstrap, stage.name, **settings)

    def consumer(self, stage: Stage, **settings: Any) -> Consuming:
        made = self.client.consume(self.settings(stage, **settings))
        stage.until_the_end.callback(made.close)
        return made

    def send(self, stage: Stage, count: int, partition: int = 0) -> None:
        """Numbers."""
        producer = self.client.produce(stage.bootstrap)
        for number in range(count):
            producer.send(stage.name, b"%d" % number, partition=partition)
        producer.flush()
        producer.close()
