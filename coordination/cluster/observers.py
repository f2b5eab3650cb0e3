"""Who reads the metadata log without voting: brokers, and how far each of them has come, as its leader sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.protocol.schema import Uuid

__all__ = ["NEVER", "Observer", "ObserverKey", "Observers"]

SESSION_MS = 300_000
"""Who has not fetched for so long is forgotten, as Kafka forgets it."""

NEVER = -1


class ObserverKey(NamedTuple):
    node_id: int
    directory_id: Uuid
    """Zero where a reader does not say it, as before version 17 of Fetch."""


@dataclass(slots=True)
class Observer:
    """Times are those of a clock that nobody sets."""

    end_offset: int = NEVER
    fetch_ms: int = NEVER
    caught_up_ms: int = NEVER
    leader_end_offset: int = NEVER
    """Where the log ended when it fetched last."""


@dataclass(slots=True)
class Observers:
    by_key: dict[ObserverKey, Observer] = field(default_factory=dict)

    def fetched(self, key: ObserverKey, offset: int, leader_end_offset: int, now_ms: int) -> None:
        """It has everything below the offset."""
        observer = self.by_key.get(key)
        if observer is None:
            self.forget_silent(now_ms)
            observer = self.by_key[key] = Observer()
        if offset >= leader_end_offset:
            observer.caught_up_ms = now_ms
        elif 0 < observer.leader_end_offset <= offset:
            # What there was when it asked last it has now: it was up to date then.
            observer.caught_up_ms = max(observer.caught_up_ms, observer.fetch_ms)
        observer.leader_end_offset = leader_end_offset
        observer.fetch_ms = now_ms
        observer.end_offset = offset

    def forget_silent(self, now_ms: int) -> None:
        for key in [key for key, one in self.by_key.items() if now_ms - one.fetch_ms >= SESSION_MS]:
            del self.by_key[key]

    def heard_of_since(self, moment_ms: int) -> bool:
        """Whether anybody reads the log now."""
        return any(observer.fetch_ms >= moment_ms for observer in self.by_key.values())
