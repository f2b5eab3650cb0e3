"""Which offset a record of the source has at the target, as runs of records that follow each other in both.

The runs of a partition are written down before their records are sent. So what a partition of the target ends with says
how much of what was planned has arrived, and what is planned next takes the place of what has not. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

import msgspec

__all__ = ["Copied", "MapKey", "MapValue", "Run", "runs_of"]


class MapKey(msgspec.Struct, frozen=True):
    """A run that grows keeps its key, so that compaction of the map's topic leaves its last state."""

    topic: str
    """As it is called at the target."""
    partition: int
    id: str
    """The topic's at the source: one that is created again has offsets of its own."""
    source: int


class MapValue(msgspec.Struct, frozen=True):
    target: int
    count: int
    sure: int
    """Up to there all was at the target when this was written."""


class Run(msgspec.Struct, frozen=True):
    id: str
    source: int
    target: int
    count: int

    @property
    def source_end(self) -> int:
        return self.source + self.count

    @property
    def target_end(self) -> int:
        return self.target + self.count


class Copied:
    """One partition: what has been planned, and with where its target ends, what has been copied."""

    def __init__(self, runs: Iterable[Run] = (), sure: int = 0) -> None:
        self.runs = list(runs)
        self.sure = sure

    def apply(self, key: MapKey, value: MapValue) -> None:
        """A record of the map's topic. At its time nothing that counts was planned behind it."""
        self._cut(value.target)
        self.runs.append(Run(key.id, key.source, value.target, value.count))
        self.sure = max(self.sure, value.sure)

    def _cut(self, end: int) -> None:
        """To what lies before an offset of the target."""
        while self.runs and self.runs[-1].target_end > end:
            last = self.runs.pop()
            if last.target < end:
                self.runs.append(Run(last.id, last.source, last.target, end - last.target))

    @property
    def planned_end(self) -> int:
        return self.runs[-1].target_end if self.runs else 0

    def arrived(self, end: int) -> Copied:
        """What of it is at a target that ends there."""
        found = Copied(self.runs, self.sure)
        found._cut(end)
        return found

    def next_source(self, id_of_topic: str) -> int:
        """All before it has been copied. 0 for a topic that was created again since."""
        last = self.runs[-1] if self.runs else None
        return last.source_end if last is not None and last.id == id_of_topic else 0

    def last_runs(self, id_of_topic: str, since: int) -> list[Run]:
        """Those of records that the source has since an offset."""
        found: list[Run] = []
        for run in reversed(self.runs):
            if run.id != id_of_topic or run.source_end <= since:
                break
            found.append(run)
        return found[::-1]

    def translate(self, id_of_topic: str, source: int) -> int | None:
        """Where a reader goes on at the target who would go on there at the source; None where nothing is copied."""
        runs = [run for run in self.runs if run.id == id_of_topic]
        if not runs:
            return None
        at = max(bisect_right(runs, source, key=lambda run: run.source) - 1, 0)
        run = runs[at]
        if source >= run.source_end:
            return run.target_end
        return run.target + max(source - run.source, 0)


def runs_of(id_of_topic: str, sources: Iterable[int], target: int, last: Run | None) -> Iterator[Run]:
    """The runs of records that are sent next, the first one as a longer last one if it goes on with it."""
    run = last if last is not None and last.id == id_of_topic and last.target_end == target else None
    grown = False
    for source in sources:
        if run is not None and run.source_end == source:
            run = Run(id_of_topic, run.source, run.target, run.count + 1)
        else:
            if run is not None and grown:
                yield run
            run = Run(id_of_topic, source, target, 1)
        target += 1
        grown = True
    if run is not None and grown:
        yield run
