"""Any order of what a log does, with power cuts between and within the steps, each start going on from what the last
cut has left: what was synced is there, and what is derived from the records agrees with them."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from barnabas.protocol.control import ControlRecordType
from barnabas.storage.retention import delete_due

from .faulty_disk import Crash, FaultyDisk, Keep, Unsafe, random_part
from .test_durability import SEED, THOROUGH, Examiner, Scenario, boot, check_whole, new_disk, visible, write_checkpoints
from .test_log import NOW

SEEDS = st.integers(0, 10**6)


def journaled(seed: int, disk: FaultyDisk) -> Keep:
    """As file systems do it: of the changes of names all up to one. While many segments are deleted, and synced only
    when all are, any other order may leave the middle ones, or a segment without the index of its transactions."""
    part = random_part(seed)
    numbers = [change.number for change in disk.unsafe()] or [0]
    last = random.Random(seed).randint(min(numbers) - 1, max(numbers))

    def keep(change: Unsafe) -> int:
        return part(change) if change.kind in ("write", "truncate") else int(change.number <= last)

    return keep


class PowerCuts(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.scenario = Scenario(new_disk(), durable=True)
        self.cut_in: int | None = None
        self.seed = 0

    def do(self, step: Callable[[], object]) -> None:
        """A step, unless the power is cut in the middle of it; then what is found next."""
        disk = self.scenario.disk
        if self.cut_in is not None:
            left = self.cut_in

            def count(_kind: str, _path: Path) -> None:
                nonlocal left
                left -= 1
                if left < 0:
                    raise Crash

            disk.before = disk.after = count
        with suppress(Crash):
            step()
        disk.before = disk.after = None
        self.cut_in = None
        if disk.dead:
            disk.dead = False
            self.find(self.seed)

    def find(self, seed: int) -> None:
        scenario = self.scenario
        image = scenario.disk.crashed(journaled(seed, scenario.disk) if scenario.cutting else random_part(seed))
        log = boot(image)
        found = visible(log)
        Examiner(scenario).check_allowed(log, found)
        check_whole(log, scenario.floor)
        scenario.disk, scenario.log = image, log
        scenario.allowed = [found]
        scenario.cutting = False

    def numbered(self, producer: int) -> None:
        known = self.scenario.log.producers.producers.get(producer)
        self.scenario.sequences[producer] = known.last_sequence + 1 if known is not None else 0

    @rule(cut_in=st.integers(0, 30), seed=SEEDS)
    def cut_soon(self, cut_in: int, seed: int) -> None:
        self.cut_in, self.seed = cut_in, seed

    @rule(seed=SEEDS)
    def cut(self, seed: int) -> None:
        self.find(seed)

    @rule(records=st.integers(1, 4), count=st.integers(1, 3), acknowledge=st.booleans())
    def append(self, records: int, count: int, acknowledge: bool) -> None:
        scenario = self.scenario
        self.do(lambda: scenario.append(*(scenario.batch(records) for _ in range(count)), acknowledge=acknowledge))

    @rule(records=st.integers(1, 3), producer=st.sampled_from([7, 8]))
    def append_numbered(self, records: int, producer: int) -> None:
        self.numbered(producer)
        self.do(lambda: self.scenario.append(self.scenario.batch(records, producer)))

    @rule(kind=st.sampled_from([ControlRecordType.ABORT, ControlRecordType.COMMIT]), plain=st.integers(0, 2))
    def transaction(self, kind: ControlRecordType, plain: int) -> None:
        """Whole but for a power cut."""
        scenario = self.scenario

        def step() -> None:
            self.numbered(9)
            scenario.append(scenario.batch(1, 9, transactional=True))
            for _ in range(plain):
                scenario.append(scenario.batch())
            scenario.end_transaction(kind, 9)

        self.do(step)

    @rule(count=st.integers(1, 3))
    def follow(self, count: int) -> None:
        self.do(lambda: self.scenario.follow(*(self.scenario.batch() for _ in range(count))))

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        log = self.scenario.log
        starts = [place.batch.base_offset for segment in log.segments[-3:] for place in segment.places()]
        starts = [offset for offset in starts if offset >= max(log.start_offset, self.scenario.floor)]
        if starts:
            offset = data.draw(st.sampled_from(starts))
            self.do(self.scenario.acknowledge)
            if offset < self.scenario.log.end_offset:
                self.do(lambda: self.scenario.truncate(offset))

    @rule(gap=st.integers(1, 100))
    def start_again(self, gap: int) -> None:
        self.do(lambda: self.scenario.start_at(self.scenario.log.end_offset + gap))

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        log = self.scenario.log
        offset = data.draw(st.integers(log.start_offset, log.end_offset))
        self.do(lambda: self.scenario.delete_records(offset))

    @rule()
    def retain(self) -> None:
        scenario = self.scenario

        def step() -> None:
            scenario.floor = max(scenario.floor, scenario.log.active.base_offset)
            delete_due(scenario.log, scenario.log.end_offset, NOW)
            scenario.purge()

        self.do(step)

    @precondition(lambda self: self.scenario.log.active.size)
    @rule()
    def roll(self) -> None:
        self.do(lambda: self.scenario.log.roll(NOW))

    @rule()
    def checkpoint(self) -> None:
        self.do(lambda: write_checkpoints(self.scenario.log))

    @rule()
    def sync(self) -> None:
        self.do(self.scenario.acknowledge)

    @rule()
    def restart(self) -> None:
        self.do(self.scenario.restart)

    def teardown(self) -> None:
        self.find(0)


TestPowerCuts = pytest.mark.slow(seed(SEED)(PowerCuts.TestCase))
TestPowerCuts.settings = settings(
    max_examples=600 if THOROUGH else 40,
    stateful_step_count=30,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
