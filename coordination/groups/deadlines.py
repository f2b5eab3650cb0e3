"""When what falls due: one deadline a key, moved at every heartbeat, the first of them always at hand."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

__all__ = ["EXPIRY", "Deadline", "Deadlines", "join_deadline", "member_deadline", "sync_deadline"]


class Deadline(NamedTuple):
    """The name of a deadline. Setting it again moves it."""

    kind: str
    group_id: str = ""
    member_id: str = ""


EXPIRY = Deadline("expiry")
"""The next look for offsets and groups that have expired."""


def member_deadline(group_id: str, member_id: str) -> Deadline:
    """A member's session; or the time that a pending member has to join, a new one to be let in."""
    return Deadline("member", group_id, member_id)


def join_deadline(group_id: str) -> Deadline:
    """The end of a rebalance: who has not joined by then is out."""
    return Deadline("join", group_id)


def sync_deadline(group_id: str) -> Deadline:
    """Who has joined and has not asked for an assignment by then is out."""
    return Deadline("sync", group_id)


class Deadlines:
    """A heap with one entry for each key, at its deadline or before: a deadline that moves back, as heartbeats make
    it, leaves its entry where it is, until that comes to the top and is found to be early."""

    def __init__(self) -> None:
        self._at: dict[Deadline, int] = {}
        self._queued: dict[Deadline, int] = {}
        self._heap: list[tuple[int, int, Deadline]] = []
        self._sequence = count()

    def __len__(self) -> int:
        return len(self._at)

    def get(self, key: Deadline) -> int | None:
        return self._at.get(key)

    def set(self, key: Deadline, at_ms: int) -> None:
        self._at[key] = at_ms
        queued = self._queued.get(key)
        if queued is None or queued > at_ms:
            self._push(key, at_ms)
        self._clear_top()

    def cancel(self, key: Deadline) -> None:
        self._at.pop(key, None)
        self._clear_top()

    def move_all(self, by_ms: int) -> None:
        """The clock has been set, and everybody still has the time that he had."""
        self._at = {key: at_ms + by_ms for key, at_ms in self._at.items()}
        self._queued = {key: at_ms + by_ms for key, at_ms in self._queued.items()}
        self._heap = [(at_ms + by_ms, number, key) for at_ms, number, key in self._heap]

    @property
    def first_ms(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def first(self) -> tuple[int, Deadline] | None:
        if not self._heap:
            return None
        at, _, key = self._heap[0]
        return at, key

    def _push(self, key: Deadline, at_ms: int) -> None:
        self._queued[key] = at_ms
        heappush(self._heap, (at_ms, next(self._sequence), key))

    def _clear_top(self) -> None:
        """Afterwards the top is a deadline that holds."""
        while self._heap:
            queued, _, key = self._heap[0]
            at = self._at.get(key)
            if at == queued and self._queued.get(key) == queued:
                return
            heappop(self._heap)
            if self._queued.get(key) == queued:
                del self._queued[key]
                if at is not None:
                    self._push(key, at)
