"""Plans drawn at random, run on both brokers, and what was found."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest

from .beside import BROKE, Beside, Difference, Step, is_decided_by_controller
from .drawing import Drawer
from .known import Known, known
from .shrinking import shrunk

__all__ = ["Explorer"]

STEPS = 40


class Explorer:
    def __init__(self, beside: Beside) -> None:
        self.beside = beside
        self.seen: Counter[Known] = Counter()
        """How often each difference on purpose has shown."""
        self.requests: Counter[str] = Counter()
        self._is_apart = False
        """Kafka failed and did nothing where we did something: what follows would differ."""

    def plan(self, seed: int) -> tuple[list[Step], list[Difference]]:
        """Draws and runs one, up to its end or the first difference that is none on purpose."""
        rng = random.Random(seed)
        connections = rng.choice([1, 3, 4])
        run = self.beside.run(connections)
        drawer = Drawer(rng, run.symbols, waits=connections > 1)
        steps: list[Step] = []
        found: list[Difference] = []
        try:
            self._is_apart = False
            while not found and not self._is_apart and len(steps) < STEPS:
                idle = run.idle()
                if not idle:
                    break
                if len(steps) < 2 and rng.random() < 0.8:
                    step = Step(0, *_beginning(len(steps), rng))
                else:
                    step = Step(rng.choice(idle), *drawer.draw())
                steps.append(step)
                self.requests[type(step.request).__name__] += 1
                found = self._unknown(run.take(step))
                for asked, answer in run.answers:
                    drawer.learn(asked.step.request, answer)
                run.answers.clear()
        finally:
            run.close()
            self.beside.clean(run.symbols)
        return steps, found

    def shrunk(self, steps: Sequence[Step], found: Difference, connections: int, seconds: float) -> list[Step]:
        def shows(tried: Sequence[Step]) -> bool:
            return any(each.signature == found.signature for each in self.again(tried, connections))

        return shrunk(steps, shows, seconds)

    def again(self, steps: Sequence[Step], connections: int) -> list[Difference]:
        run = self.beside.run(connections)
        found: list[Difference] = []
        try:
            for number, step in enumerate(steps):
                run.steps = number
                found = self._unknown(run.take(step))
                if found:
                    break
        finally:
            run.close()
            self.beside.clean(run.symbols)
        return found

    def _unknown(self, differences: Sequence[Difference]) -> list[Difference]:
        unknown = []
        for difference in differences:
            on_purpose = known(difference)
            if on_purpose is None:
                unknown.append(difference)
            else:
                self.seen[on_purpose] += 1
                self._is_apart = difference.place == BROKE and is_decided_by_controller(difference.step)
        return unknown


def _beginning(number: int, rng: random.Random) -> tuple[Any, int]:
    """What makes it likelier that something is hit."""
    if number == 0:
        names = ["@orders", "@payments"]
        topics = [CreatableTopic(name=name, num_partitions=rng.choice([1, 2]), replication_factor=1) for name in names]
        return CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7
    return InitProducerIdRequest(transactional_id=None), 4
