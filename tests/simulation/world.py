"""A cluster in one process, its clients, and what befalls them: all of it decided by one number."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import trio
from trio.testing import MockClock

from tests.simulation.checks.checker import Checker
from tests.simulation.clients.client import Client
from tests.simulation.clock import BEGINS_MS
from tests.simulation.history import History
from tests.simulation.ledger import Ledger
from tests.simulation.links import Links
from tests.simulation.machine import Incarnation, Machine
from tests.simulation.moments import Moments
from tests.simulation.network import Internet
from tests.simulation.scheduling import deterministic
from tests.simulation.settings import Scenario, settings_of

__all__ = ["Outcome", "World", "simulate"]

LONGEST_S = 3_600.0
"""Of simulated time: a run that takes longer waits for something that does not come."""


class Outcome(NamedTuple):
    seed: int
    failure: str | None
    digest: str
    counts: dict[str, int]
    simulated_s: float
    lines: list[str]


def _time(look: Callable[[], None]) -> MockClock:
    """It jumps when nothing is left to do at a moment; then somebody looks whether all is well."""
    clock = MockClock(autojump_threshold=0)
    jump = clock._autojump

    def look_and_jump() -> None:
        look()
        jump()

    clock._autojump = look_and_jump  # type: ignore[method-assign] # it cannot be inherited from
    return clock


class World:
    DATA = Path("/simulated/data")

    def __init__(self, seed: int, scenario: Scenario | None = None) -> None:
        self.seed = seed
        self.scenario = scenario or Scenario.drawn(random.Random(f"scenario {seed}"))
        self.history = History()
        self.failure: str | None = None
        self.ledger = Ledger(self.fail)
        self.moments = Moments()
        self.links = Links(self.moments, random.Random(f"links {seed}"))
        self.internet = Internet(self.links)
        self.machines: list[Machine] = []
        self.checker = Checker(self)
        self.nursery: trio.Nursery
        self._scope: trio.CancelScope | None = None
        self.clients: list[Client] = []

    # What others ask

    @property
    def bootstrap(self) -> list[tuple[str, int]]:
        return [(machine.name, 9092) for machine in self.machines]

    @property
    def now_ms(self) -> int:
        """By no clock in particular."""
        return BEGINS_MS + int(trio.current_time() * 1000)

    @property
    def lag_max_s(self) -> float:
        return self.scenario.lag_max_ms / 1000

    @property
    def controller(self) -> Machine:
        return self.machines[0]

    def can_decide(self, incarnation: Incarnation) -> bool:
        """It runs, and can ask the controller."""
        if incarnation.paused or self.controller.serving is None:
            return False
        here, there = incarnation.machine.host, self.controller.host
        return not (self.links.between(here, there).cut or self.links.between(there, here).cut)

    def fail(self, why: str) -> None:
        """The first reason counts; nothing goes on then."""
        if self.failure is None:
            self.failure = why
            self.history.note("checker", why)
            if self._scope is not None:
                self._scope.cancel()
            for machine in self.machines:
                machine.resume()

    # The run

    async def main(self, story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
        for number in range(self.scenario.nodes):
            generator = random.Random(f"machine {number} {self.seed}")
            self.machines.append(
                Machine(
                    self,
                    number + 1,
                    settings_of(number + 1, self.scenario, self.DATA),
                    skew_ms=generator.choice([0, 0, 50, -3_000, 60_000]),
                    drift=generator.choice([0, 0, 0.001, -0.001]),
                )
            )
        with trio.move_on_after(LONGEST_S) as scope:
            self._scope = scope
            async with trio.open_nursery() as nursery:
                self.nursery = nursery
                nursery.start_soon(self._protected, self.moments.run)
                await self._protected(story, self)
                self.history.note("world", "the end")
                for machine in self.machines:
                    machine.kill()
                nursery.cancel_scope.cancel()
        if scope.cancelled_caught and self.failure is None:
            self.failure = f"it has not ended after {LONGEST_S:.0f} s"

    async def _protected(self, work: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        """What is wrong with the simulation itself ends it, too."""
        try:
            await work(*args)
        except Exception:  # noqa: BLE001 - it is told
            self.fail(f"the simulation is broken: {traceback.format_exc()}")

    def look(self) -> None:
        if self.failure is None:
            self.checker.look()

    def begin(self, client: Client) -> None:
        self.clients.append(client)
        self.nursery.start_soon(self._protected, client.run)

    async def until(self, condition: Callable[[], str | None], within_s: float, what: str) -> None:
        """Until there is nothing that is still missing."""
        missing: str | None = ""
        with trio.move_on_after(within_s):
            while True:
                missing = condition()
                if missing is None:
                    return
                await trio.sleep(0.25)
        self.fail(f"{what} takes longer than {within_s:.0f} s: {missing}")
        await trio.sleep_forever()


def simulate(
    seed: int, story: Callable[[World], Coroutine[Any, Any, None]], scenario: Scenario | None = None
) -> Outcome:
    world = World(seed, scenario)
    time = _time(world.look)
    with deterministic(seed):
        trio.run(world.main, story, clock=time)
    return Outcome(
        seed,
        world.failure,
        world.history.digest,
        dict(world.history.counts),
        time.current_time(),
        world.history.lines(),
    )
