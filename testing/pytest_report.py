"""What the brokers of a process saw during one test, for the report of a test that fails.

Every broker counts: that of the fixture `kafka`, and those that a test or a fixture of its project has opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple
from weakref import WeakKeyDictionary

from barnabas.broker.event_log import Event, Level
from barnabas.testing.embedded import KNOWN, Embedded
from barnabas.testing.history import Request

__all__ = ["Seen"]

_LAST = 30


class _Mark(NamedTuple):
    requests: int
    event: object
    """The last one."""


_BEFORE_ALL = _Mark(0, None)


class Seen:
    """From the moment that it is made; without brokers that it has seen before, all there was."""

    def __init__(self, known: Iterable[Embedded] = KNOWN) -> None:
        self._marks = WeakKeyDictionary(
            {one: _Mark(one.history.count, _last(one.history.events)) for one in list(known)}
        )

    def sections(self) -> Iterator[tuple[str, str]]:
        """A title and a text for each broker that there is news of."""
        for broker in sorted(KNOWN, key=lambda one: one.port):
            lines = list(self._lines(broker))
            if lines:
                yield f"what the broker at 127.0.0.1:{broker.port} saw during this test", "\n".join(lines)

    def _lines(self, broker: Embedded) -> Iterator[str]:
        mark = self._marks.get(broker, _BEFORE_ALL)
        history = broker.history
        count = history.count - mark.requests
        if count:
            yield f"{count} requests" if count > 1 else "1 request"
            yield from _shown(list(history.requests)[-count:])
        told = [text for _, text in _after(list(history.events), mark.event) if _is_trouble(text)]
        if told:
            yield "it reported:"
            yield from (f"  {text.strip()}" for text in told[-_LAST:])
        faults = list(broker.faults)
        if faults:
            yield "faults that are set:"
            yield from (f"  {fault}" for fault in faults)


def _shown(requests: Sequence[Request]) -> Iterator[str]:
    """Those that a client repeats, as it does with empty Fetches, are one line."""
    alike = [list(some) for _, some in groupby(requests, key=_what)]
    if len(alike) > _LAST:
        yield f"  ({sum(map(len, alike[:-_LAST]))} before these)"
    for some in alike[-_LAST:]:
        yield f"  {some[-1]}" + (f" ({len(some)} times)" if len(some) > 1 else "")


def _what(request: Request) -> object:
    return (
        request.client,
        request.api,
        request.topics,
        request.group,
        request.errors,
        request.outcome,
        request.fault,
    )


def _is_trouble(text: str) -> bool:
    return isinstance(text, Event) and text.level is not Level.INFO


def _last(events: Sequence[object]) -> object:
    return events[-1] if events else None


def _after(events: Sequence[tuple[int, str]], mark: object) -> Sequence[tuple[int, str]]:
    """All, if the one that was last then is forgotten meanwhile."""
    for index in reversed(range(len(events))):
        if events[index] is mark:
            return events[index + 1 :]
    return events
