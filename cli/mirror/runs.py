"""Where the records of a partition are at the target: from this offset of the source on, from that one on; pure."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable

__all__ = ["Runs"]


class Runs:
    """A new one begins where the distance changes: behind a hole at the source, or somebody else's record."""

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        self._sources = array("q")
        self._targets = array("q")
        for source, target in sorted(pairs):
            self.add(source, target)

    def __len__(self) -> int:
        return len(self._sources)

    def add(self, source: int, target: int) -> bool:
        """In the order of the source. Whether it is a new run."""
        if self._sources and target - source == self._targets[-1] - self._sources[-1]:
            return False
        self._sources.append(source)
        self._targets.append(target)
        return True

    def translate(self, offset: int, end: int) -> int | None:
        """Where the first record is that was copied of those from this offset on; `end` if none was yet, which is where
        it will be. None: nothing was ever copied."""
        if not self._sources:
            return None
        at = bisect_right(self._sources, offset) - 1
        if at < 0:
            return self._targets[0]
        bound = self._targets[at + 1] if at + 1 < len(self._targets) else end
        return min(self._targets[at] + offset - self._sources[at], bound)

    def forget_before(self, offset: int) -> int | None:
        """What is about offsets that the source has no more. The first one that is still known, if any went."""
        keep = bisect_right(self._sources, offset) - 1
        if keep <= 0:
            return None
        del self._sources[:keep]
        del self._targets[:keep]
        return self._sources[0]

    def pairs(self) -> list[tuple[int, int]]:
        return list(zip(self._sources, self._targets, strict=True))
