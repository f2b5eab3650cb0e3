"""What happened in a run, in the order of simulated time: told when it ends badly, and compared between two runs of the
same seed."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from typing import NamedTuple

import trio

__all__ = ["Happened", "History"]

_KEPT = 50_000


class Happened(NamedTuple):
    moment_s: float
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.moment_s:10.6f}  {self.who:12} {self.what}"


class History:
    def __init__(self) -> None:
        self._kept: deque[Happened] = deque(maxlen=_KEPT)
        self._digest = hashlib.blake2b(digest_size=8)
        self.counts: Counter[str] = Counter()
        """Of what is worth a number at the end."""

    def note(self, who: str, what: str) -> None:
        happened = Happened(trio.current_time(), who, what)
        self._kept.append(happened)
        self._digest.update(str(happened).encode())

    def count(self, what: str) -> None:
        self.counts[what] += 1

    @property
    def digest(self) -> str:
        """Equal for runs in which the same happened."""
        return self._digest.hexdigest()

    def lines(self, most: int = _KEPT, about: str = "") -> list[str]:
        found = [str(each) for each in self._kept if about in each.what or about in each.who]
        return found[-most:]
