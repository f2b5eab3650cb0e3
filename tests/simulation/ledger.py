"""What clients were told: nothing of it may turn out wrong later."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from barnabas.protocol.schema import Uuid

__all__ = ["Ledger", "Place"]


class Place(NamedTuple):
    """A partition. A topic that was deleted and made again is another one."""

    topic: str
    topic_id: Uuid
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


class Sent(NamedTuple):
    """What one producer wants to have in one partition, in this order."""

    values: list[bytes]
    counts: bool
    """What is acknowledged may not be lost (acks=all)."""


class Ledger:
    def __init__(self, fail: Callable[[str], None]) -> None:
        self._fail = fail
        self.values: defaultdict[Place, dict[int, bytes]] = defaultdict(dict)
        """By offset, as consumers have seen them or producers were told."""
        self.acknowledged: defaultdict[Place, dict[int, bytes]] = defaultdict(dict)
        """By offset: what all replicas in sync have."""
        self.sent: defaultdict[Place, dict[str, Sent]] = defaultdict(dict)
        """By producer."""
        self.deleted: set[Uuid] = set()
        """Topics that somebody wanted to delete."""
        self.commits: defaultdict[tuple[str, Place], list[int]] = defaultdict(list)
        """By group: all that somebody tried to commit, in this order; each is larger than those before."""
        self.committed: dict[tuple[str, Place], int] = {}
        """By group: the last that was acknowledged."""

    def will_send(self, place: Place, producer: str, value: bytes, *, counts: bool) -> None:
        self.sent[place].setdefault(producer, Sent([], counts)).values.append(value)

    def was_acknowledged(self, place: Place, offset: int, values: list[bytes]) -> None:
        for at, value in enumerate(values, offset):
            self._settle(place, at, value, "a producer was told")
            self.acknowledged[place][at] = value

    def was_seen(self, place: Place, offset: int, value: bytes, by: str) -> None:
        self._settle(place, offset, value, f"{by} reads")

    def _settle(self, place: Place, offset: int, value: bytes, who: str) -> None:
        before = self.values[place].setdefault(offset, value)
        if before != value:
            self._fail(f"{place}: {who} {value!r} at offset {offset}, where {before!r} was before")

    def check_committed(self, group: str, place: Place, offset: int) -> None:
        """A group finds this as what it has committed."""
        told = self.committed.get((group, place), -1)
        tried = self.commits[group, place]
        if offset < told:
            self._fail(f"group {group} finds offset {offset} committed for {place}, and {told} was acknowledged")
        elif offset != told and offset not in tried:
            self._fail(f"group {group} finds offset {offset} committed for {place}, which nobody has committed")
