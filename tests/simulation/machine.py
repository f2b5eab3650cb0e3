"""A machine: its disk, its clock, its place in the network, and the node that runs on it, or does not at the moment."""

from __future__ import annotations

import random
import traceback
from typing import TYPE_CHECKING

import trio

from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.event_log import Event, Level
from barnabas.broker.node import Node
from barnabas.broker.start_problems import sentences
from barnabas.storage.durability import Durability
from tests.simulation.clock import SimulatedClock
from tests.simulation.disk import SimulatedDisk
from tests.simulation.network import SimulatedNetwork
from tests.simulation.scheduling import HOME, Home
from tests.storage.faulty_disk import everything, random_part

if TYPE_CHECKING:
    from tests.simulation.world import World

__all__ = ["Incarnation", "Machine"]


class Incarnation(Home):
    """One process: a node from its start to its end."""

    def __init__(self, machine: Machine, number: int) -> None:
        super().__init__(machine.name)
        self.machine = machine
        self.number = number
        self.scope = trio.CancelScope()
        self.network: SimulatedNetwork = machine.world.internet.process(machine.name)
        self.node = Node(
            NodeConfig.load({}, machine.settings),
            clock=machine.clock,
            disk=machine.disk,
            network=self.network,
            random_bytes=machine.generator.randbytes,
            report=self.report,
        )
        self.is_alive = True
        """It has neither ended nor been killed."""
        self.in_service = False
        self.ended = trio.Event()

    def report(self, text: str) -> None:
        if not self.is_alive:
            return
        self.machine.note(text)
        if isinstance(text, Event) and level_of(text) is Level.ERROR and "Traceback" in text:
            self.machine.world.fail(f"{self.name} is broken: {text}")

    async def run(self) -> None:
        HOME.set(self)
        try:
            with self.scope:
                await self.node.run(task_status=_Status(self))
        except* Exception as failed:  # noqa: BLE001 - whatever it is, it is told
            if why := " ".join(sentences(failed)):
                self.machine.note(f"has failed: {why}")
            elif self.is_alive:
                trace = "".join(traceback.format_exception(failed))
                self.machine.world.fail(f"{self.name} ended with an exception:\n{trace}")
        finally:
            self.in_service = False
            if self.is_alive:
                self.is_alive = False
                self.network.sockets.die(loudly=True)
                self.machine.ended(self)
            self.ended.set()


class _Status(trio.TaskStatus[Node]):
    def __init__(self, incarnation: Incarnation) -> None:
        self._incarnation = incarnation

    def started(self, value: Node | None = None) -> None:
        self._incarnation.in_service = True
        self._incarnation.machine.note("is in service")


def level_of(event: Event) -> Level:
    return event.level


class Machine:
    def __init__(self, world: World, node_id: int, settings: dict[str, str], *, skew_ms: int, drift: float) -> None:
        self.world = world
        self.node_id = node_id
        self.name = f"node{node_id}"
        self.host = world.internet.host(self.name)
        self.settings = settings
        self.durability = Durability(settings["barnabas.durability"])
        self.clock = SimulatedClock(skew_ms, drift)
        self.generator = random.Random(f"{self.name} {world.seed}")
        self.disk = SimulatedDisk()
        self.disk.make_directory(world.DATA.parent)
        self.disk.sync_directory(world.DATA.parent.parent)
        self._numbers = 0
        self.incarnation: Incarnation | None = None
        """Where a node runs."""

    def __repr__(self) -> str:
        return f"<Machine {self.name}>"

    def note(self, what: str) -> None:
        self.world.history.note(self.name, what)

    @property
    def node(self) -> Node | None:
        return None if self.incarnation is None else self.incarnation.node

    @property
    def serving(self) -> Node | None:
        """The node, if it is in service and not paused."""
        incarnation = self.incarnation
        if incarnation is None or not incarnation.in_service or incarnation.paused:
            return None
        return incarnation.node

    def start(self) -> None:
        assert self.incarnation is None, f"{self} runs already"
        self.host.powered = True
        self._numbers += 1
        self.incarnation = Incarnation(self, self._numbers)
        self.note(f"starts, the {self._numbers}. time")
        self.world.nursery.start_soon(self.incarnation.run)

    def stop(self) -> None:
        """It is told to; it ends when it has done what it does then."""
        if self.incarnation is not None:
            self.note("is told to stop")
            self.incarnation.node.stop()

    def kill(self) -> None:
        """What it wrote, it wrote."""
        incarnation = self._die(loudly=True)
        if incarnation is not None:
            self.note("is killed")
            self.disk = self.disk.found(everything)

    def cut_power(self) -> None:
        """What was not synced may be lost, each part of it on its own."""
        incarnation = self._die(loudly=False)
        self.host.powered = False
        self.note("loses power" if incarnation is not None else "is off")
        self.disk = self.disk.found(random_part(f"{self.world.seed} {self.name} {self._numbers}"))

    def pause(self) -> None:
        if self.incarnation is not None and not self.incarnation.paused:
            self.note("is paused")
            self.incarnation.pause()

    def resume(self) -> None:
        if self.incarnation is not None and self.incarnation.paused:
            self.note("goes on")
            self.incarnation.resume()

    def _die(self, *, loudly: bool) -> Incarnation | None:
        incarnation, self.incarnation = self.incarnation, None
        if incarnation is not None:
            self.world.checker.looks(incarnation)
            incarnation.is_alive = False
            incarnation.network.sockets.die(loudly=loudly)
            incarnation.scope.cancel()
            if incarnation.paused:
                incarnation.resume()
        return incarnation

    def ended(self, incarnation: Incarnation) -> None:
        """By itself, or because it was told to."""
        if self.incarnation is incarnation:
            self.incarnation = None
            self.note("has ended")
            self.disk = self.disk.found(everything)
