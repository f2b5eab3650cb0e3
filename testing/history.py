"""What the broker saw: its last requests, what became of them, and what it had to report."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from barnabas.broker.event_log import Event, Level

__all__ = ["LAST_EVENTS", "LAST_REQUESTS", "History", "Request"]

LAST_REQUESTS = 1_000
LAST_EVENTS = 200


class Request(msgspec.Struct, gc=False, eq=False):
    time_ms: int
    """By the broker's clock."""
    client_id: str | None
    peer: tuple[Any, ...]
    """Where it comes from."""
    api: str
    version: int
    topics: tuple[str, ...]
    group: str | None
    errors: tuple[str, ...] = ()
    """The codes in its answer, by their names."""
    outcome: str = "not answered"
    """Or "answered", "no answer wanted", or why its connection was cut."""
    fault: str | None = None
    """Which trouble of the test's it met."""
    duration_ms: float | None = None

    @property
    def client(self) -> str:
        """Its address."""
        return f"{self.peer[0]}:{self.peer[1]}"

    def __str__(self) -> str:
        group = (f"group {self.group}",) if self.group else ()
        about = " ".join([self.client_id or "?", self.api, f"v{self.version}", *self.topics, *group])
        took = "" if self.duration_ms is None else f" in {self.duration_ms:.1f} ms"
        result = ", ".join(self.errors) or ("ok" if self.outcome == "answered" else self.outcome)
        fault = f" (fault: {self.fault})" if self.fault else ""
        return f"{_clock_time(self.time_ms)} {about}: {result}{took}{fault}"


class History:
    """Filled in the broker's loop, read in any thread."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self.requests: deque[Request] = deque(maxlen=LAST_REQUESTS)
        self.events: deque[tuple[int, str]] = deque(maxlen=LAST_EVENTS)
        self.count = 0

    def add(self, request: Request) -> None:
        self.count += 1
        self.requests.append(request)

    def note(self, text: str) -> None:
        """What the node reports."""
        self.events.append((self._now_ms(), text))

    def report(self, where: str, faults: Iterable[object], last: int) -> str:
        return "\n".join(self._lines(where, faults, last))

    def _lines(self, where: str, faults: Iterable[object], last: int) -> Iterator[str]:
        shown = list(self.requests)[-last:] if last else []
        yield f"{where} saw {self.count} requests" + (f"; the last {len(shown)}:" if shown else "")
        yield from (f"  {request}" for request in shown)
        told = list(islice(reversed(self.events), last))[::-1]
        if told:
            yield "it reported:"
            yield from (f"  {_clock_time(at_ms)} {_level(text)}{text.strip()}" for at_ms, text in told)
        still = list(faults)
        if still:
            yield "faults that are set:"
            yield from (f"  {fault}" for fault in still)


def _level(text: str) -> str:
    return f"{text.level.value}: " if isinstance(text, Event) and text.level is not Level.INFO else ""


def _clock_time(time_ms: int) -> str:
    return f"{time.strftime('%H:%M:%S', time.localtime(time_ms // 1000))}.{time_ms % 1000:03d}"
