"""What befalls a cluster, one after the other and several at a time, as a seed decides."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import trio

from barnabas.storage.durability import Durability
from tests.simulation.machine import Machine

if TYPE_CHECKING:
    from tests.simulation.world import World

__all__ = ["Faults"]


class Faults:
    def __init__(self, world: World, generator: random.Random) -> None:
        self._world = world
        self._generator = generator
        self._mend: dict[object, Callable[[], None]] = {}
        """What is amiss, and how it gets well again."""
        self._ended_uncleanly: set[Machine] = set()
        self._lost_power: set[Machine] = set()
        """In this round. Where nobody waits for disks, a record is safe as long as one of those in sync has not lost
        it, and of those that ended uncleanly the controller cannot tell who has: so a round in which one machine loses
        power has no other that ends uncleanly."""
        self._kinds: list[tuple[int, Callable[[], None]]] = [
            (4, self._kill),
            (2, self._cut_power),
            (3, self._pause),
            (3, self._stop),
            (2, self._reset),
            (1, self._fill_disk),
            (1, self._fail_syncs),
            (1, self._set_clock),
        ]
        if len(world.machines) > 1:
            self._kinds += [(3, self._cut), (3, self._cut_one_way), (2, self._isolate), (2, self._slow)]

    async def run(self, for_s: float, pause_s: float) -> None:
        with trio.move_on_after(for_s):
            while True:
                await trio.sleep(pause_s * self._generator.expovariate(1))
                weights = [weight for weight, _ in self._kinds]
                self._generator.choices([kind for _, kind in self._kinds], weights)[0]()

    def end(self) -> None:
        """All that is amiss is mended."""
        for mend in list(self._mend.values()):
            mend()
        assert not self._mend
        for machine in self._world.machines:
            machine.disk.mend()
            self._start(machine)
            if machine.node is not None and machine.node.failure is not None:
                # It has not ended yet of what its disk did.
                self._world.nursery.start_soon(self._start_when_ended, machine)

    # One fault each

    def _some_machine(self) -> Machine:
        return self._generator.choice(self._world.machines)

    def _two_hosts(self) -> tuple[Machine, Machine]:
        one, other = self._generator.sample(self._world.machines, 2)
        return one, other

    def _note(self, what: str, kind: str) -> None:
        self._world.history.note("faults", what)
        self._world.history.count(f"fault: {kind}")
        self._world.history.count("faults")

    def _until(self, thing: object, mend: Callable[[], None], longest_s: float) -> None:
        """It gets well after a while, or when all faults end."""

        def once() -> None:
            if self._mend.get(thing) is once:
                del self._mend[thing]
                mend()

        self._mend[thing] = once
        self._world.moments.after(self._generator.uniform(0.05, 1) * longest_s, once)

    def _start(self, machine: Machine) -> None:
        if machine.incarnation is None:
            machine.start()

    def _kill(self) -> None:
        machine = self._some_machine()
        if machine.incarnation is not None and self._may_end_uncleanly(machine):
            self._note(f"{machine.name} is killed", "kill")
            machine.kill()
            self._until((machine, "down"), lambda: self._start(machine), 8)

    def _cut_power(self) -> None:
        machine = self._some_machine()
        is_alone = len(self._world.machines) == 1
        if machine.incarnation is None or (machine.durability is not Durability.FSYNC and is_alone):
            return
        if self._ended_uncleanly - {machine} and machine.durability is not Durability.FSYNC:
            return
        self._lost_power.add(machine)
        self._ended_uncleanly.add(machine)
        self._note(f"{machine.name} loses power", "power cut")
        machine.cut_power()
        self._until((machine, "down"), lambda: self._start(machine), 8)

    def _may_end_uncleanly(self, machine: Machine) -> bool:
        if self._lost_power - {machine} and machine.durability is not Durability.FSYNC:
            return False
        self._ended_uncleanly.add(machine)
        return True

    def all_is_well(self) -> None:
        """Everybody has everything: who lost power before has it again."""
        self._ended_uncleanly.clear()
        self._lost_power.clear()

    def _stop(self) -> None:
        machine = self._some_machine()
        incarnation = machine.incarnation
        if incarnation is not None and incarnation.in_service:
            self._note(f"{machine.name} is stopped and started again", "stop")
            machine.stop()
            self._world.nursery.start_soon(self._start_when_ended, machine)

    async def _start_when_ended(self, machine: Machine) -> None:
        incarnation = machine.incarnation
        if incarnation is not None:
            await incarnation.ended.wait()
            await trio.sleep(self._generator.uniform(0, 1))
            if (machine, "down") not in self._mend:
                self._start(machine)

    def _pause(self) -> None:
        machine = self._some_machine()
        incarnation = machine.incarnation
        if incarnation is not None and (machine, "paused") not in self._mend:
            self._note(f"{machine.name} is paused", "pause")
            machine.pause()
            self._until((machine, "paused"), machine.resume, 8)

    def _cut(self) -> None:
        one, other = self._two_hosts()
        self._cut_between([(one, other), (other, one)], f"{one.name} and {other.name} do not hear each other", "cut")

    def _cut_one_way(self) -> None:
        one, other = self._two_hosts()
        self._cut_between([(one, other)], f"{other.name} does not hear {one.name}", "one-way cut")

    def _isolate(self) -> None:
        machine = self._some_machine()
        others = [other for other in self._world.machines if other is not machine]
        ways = [way for other in others for way in ((machine, other), (other, machine))]
        self._cut_between(ways, f"{machine.name} hears no other node", "isolation")

    def _cut_between(self, ways: list[tuple[Machine, Machine]], what: str, kind: str) -> None:
        thing = ("cut", tuple(ways))
        if thing in self._mend:
            return
        self._note(what, kind)
        for source, target in ways:
            self._world.links.cut(source.host, target.host)

        def mend() -> None:
            self._world.history.note("faults", f"no more: {what}")
            for source, target in ways:
                self._world.links.mend(source.host, target.host)

        self._until(thing, mend, 10)

    def _slow(self) -> None:
        one, other = self._two_hosts()
        link = self._world.links.between(one.host, other.host)
        thing = ("slow", link)
        if thing in self._mend:
            return
        before = link.latency_s, link.jitter_s, link.bytes_per_s
        slower = (self._generator.choice([0.05, 0.4]), 0.2, self._generator.choice([1e4, 1e6]))
        self._note(f"{one.name} reaches {other.name} slowly", "slow link")
        link.latency_s, link.jitter_s, link.bytes_per_s = slower

        def mend() -> None:
            link.latency_s, link.jitter_s, link.bytes_per_s = before

        self._until(thing, mend, 10)

    def _reset(self) -> None:
        machine = self._some_machine()
        ends = list(machine.host.ends.values())
        if ends:
            self._note(f"some connections of {machine.name} break", "reset")
            for end in self._generator.sample(ends, self._generator.randint(1, len(ends))):
                reset = OSError(errno.ECONNRESET, "Connection reset by peer")
                end.ended(reset)
                end.peer.ended(reset)

    def _fill_disk(self) -> None:
        machine = self._some_machine()
        thing = (machine, "disk full")
        if thing in self._mend or machine.incarnation is None or not self._may_end_uncleanly(machine):
            return
        self._note(f"the disk of {machine.name} becomes full", "disk full")
        machine.disk.capacity = machine.disk.used + self._generator.choice([0, 1000, 20_000])

        def mend() -> None:
            machine.disk.capacity = None

        self._until(thing, mend, 5)

    def _fail_syncs(self) -> None:
        machine = self._some_machine()
        if machine.incarnation is not None and self._may_end_uncleanly(machine):
            self._note(f"a sync of the disk of {machine.name} will fail", "failing sync")
            machine.disk.fail("sync", self._generator.randint(1, 20))

    def _set_clock(self) -> None:
        machine = self._some_machine()
        by_ms = self._generator.choice([-60_000, -500, 2_000, 3_600_000])
        self._note(f"the clock of {machine.name} is set by {by_ms} ms", "clock set")
        machine.clock.set_ahead(by_ms)
