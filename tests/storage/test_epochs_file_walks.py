"""Whatever happens to a log, and whenever: whoever opens it next knows its epochs."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from barnabas.storage.log import Log
from barnabas.storage.retention import delete_due

from .epochs_on_disk import after_kill, follow, known
from .faulty_disk import nothing, random_part
from .test_durability import boot, check_whole, new_disk, sync, write_checkpoints
from .test_log import NOW, append


@pytest.fixture
def log() -> Log:
    return boot(new_disk())


class Walk:
    """Steps of a log, drawn, with everything that changes epochs; recovery points are written now and then."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.log = boot(new_disk())
        self.epoch = 0

    def lead(self) -> None:
        self.epoch += self.random.randrange(1, 3)
        self.log.begin_epoch(self.epoch)

    def append(self) -> None:
        append(self.log, *[b"x" * self.random.randrange(90)] * self.random.randrange(1, 3), epoch=self.epoch)

    def follow(self) -> None:
        offset = self.log.end_offset
        for _ in range(self.random.randrange(1, 4)):
            self.epoch += self.random.randrange(2)
            offset += self.random.choice([0, 0, 0, 3])
            follow(self.log, self.epoch, offset, [b"y" * self.random.randrange(90)])
            offset = self.log.end_offset

    def sync(self) -> None:
        sync(self.log)

    def sync_sealed(self) -> None:
        work = self.log.unsynced_sealed()
        work.sync()
        self.log.synced(work)

    def sync_while(self) -> None:
        """Other things happen before the thread does its part, and before that is noted."""
        work = self.log.unsynced()
        self.step(self.append, self.follow, self.truncate, self.lead)
        work.sync()
        self.step(self.append, self.follow, self.truncate, self.lead)
        self.log.synced(work)

    def checkpoint(self) -> None:
        write_checkpoints(self.log)

    def truncate(self) -> None:
        places = [place.batch.base_offset for segment in self.log.segments for place in segment.places()]
        offsets = [offset for offset in places[-6:] if offset > self.log.start_offset]
        if offsets:
            self.log.truncate_to(self.random.choice(offsets), NOW)

    def delete(self) -> None:
        """Never all: of an epoch without a record left nothing is told."""
        places = [place.batch.base_offset for place in self.log.active.places()]
        if places and places[-1] > self.log.start_offset:
            self.log.advance_start(self.random.randrange(self.log.start_offset, places[-1]) + 1)
            delete_due(self.log, self.log.end_offset, NOW)

    def begin_anew(self) -> None:
        self.log.truncate_fully_and_start_at(self.log.end_offset + 5, NOW)

    def step(self, *steps: Callable[[], None]) -> None:
        self.random.choice(steps)()

    def run(self, steps: int, look: Callable[[], None]) -> None:
        often = [self.append, self.append, self.append, self.follow, self.lead, self.sync, self.checkpoint]
        for _ in range(steps):
            self.step(*often, *often, self.sync_sealed, self.sync_while, self.truncate, self.delete, self.begin_anew)
            look()


@pytest.mark.parametrize("seed", range(60))
def test_whenever_it_is_killed_the_next_to_open_the_log_knows_the_same_epochs(seed: int) -> None:
    walk = Walk(seed)

    def look() -> None:
        log = walk.log
        found = after_kill(log)
        # As the log was told to begin at the last checkpoint, which may be long ago.
        found.epochs.truncate_from_start(log.start_offset)
        # A log that was cut in a gap ends before it again, with the last record.
        assert known(found) == [entry for entry in known(log) if entry[1] < found.end_offset]

    walk.run(60, look)


@pytest.mark.parametrize("seed", range(30))
def test_whatever_a_power_cut_takes_epochs_are_those_of_the_records(seed: int) -> None:
    walk = Walk(seed)

    def look() -> None:
        # A log that is cut has its recovery point written before anything else is trusted.
        write_checkpoints(walk.log)
        for keep in (nothing, random_part(seed)):
            found = boot(walk.log.disk.crashed(keep))  # type: ignore[attr-defined]
            check_whole(found, walk.log.start_offset)

    walk.run(40, look)
