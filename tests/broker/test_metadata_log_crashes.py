"""Power cuts at every operation of a metadata log: opening, epochs, records, snapshots, and deleting what is old.

What was synced is there after each, nothing that was never appended is, and every epoch is new.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.storage.faulty_disk import FaultyDisk, Keep, everything, nothing, random_part

from .metadata_logs import DIRECTORY, Journal

SEGMENT_BYTES = 200


class Life:
    """Of a node that is asked at each operation what a cut would leave."""

    def __init__(self, disk: FaultyDisk, keep: Keep) -> None:
        self.disk = disk
        self.keep = keep
        self.appended = 0
        self.safe = 0
        self.epoch = 0
        """The last one that has begun."""
        self.cuts = 0
        disk.before = disk.after = self.cut

    def cut(self, _kind: str, _path: Path) -> None:
        self.cuts += 1
        found = Journal(self.disk.crashed(self.keep), segment_bytes=SEGMENT_BYTES)
        topics = sorted(found.topics)
        assert topics == list(range(len(topics)))
        assert self.safe <= len(topics) <= self.appended
        assert found.begin().log.epoch > self.epoch
        assert found.log.kraft_version == 1
        found.create(1000)
        found.snapshot()
        last = Journal(found.disk, segment_bytes=SEGMENT_BYTES)
        assert sorted(last.topics) == [*topics, 1000]

    def create(self, journal: Journal, count: int) -> None:
        for _ in range(count):
            self.appended += 1
            journal.create(self.appended - 1)
            self.safe = self.appended

    def live(self) -> None:
        for max_bytes in (0, 700, 0):
            journal = Journal(self.disk, segment_bytes=SEGMENT_BYTES).begin()
            self.epoch = journal.log.epoch
            self.create(journal, 3)
            journal.snapshot()
            self.create(journal, 4)
            journal.snapshot()
            journal.clean(max_bytes=max_bytes)
            self.create(journal, 1)
            journal.log.close()


@pytest.mark.parametrize(
    "keep", [nothing, everything, *map(random_part, range(3))], ids=["nothing", "everything", *map(str, range(3))]
)
@pytest.mark.slow
def test_a_power_cut_at_any_operation(keep: Keep) -> None:
    life = Life(FaultyDisk(), keep)
    life.live()
    assert life.cuts > 300
    names = life.disk.names(DIRECTORY)
    assert f"{0:020d}.log" not in names, "segments were deleted"
    assert len([name for name in names if name.endswith(".checkpoint")]) < 6
