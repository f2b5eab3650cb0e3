"""What happens in a node, one line an event: for people who read it, or as JSON for programs.

    log = EventLog(sys.stdout, as_json=False)
    log("a line of information")
    log(Event("the disk is slow", Level.WARNING, path="/data"))

An event is a string that knows how grave it is, so that whoever only has something to say hands over a string, and a
test collects lines with `lines.append`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Self, TextIO

__all__ = ["Event", "EventLog", "Level", "Report"]


class Level(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


Report = Callable[[str], None]
"""Is told one event at a time."""


class Event(str):
    """`fields` are what a program looks for in JSON; the text says it all to people."""

    __slots__ = ("fields", "level")

    level: Level
    fields: Mapping[str, object]

    def __new__(cls, text: str, level: Level = Level.INFO, **fields: object) -> Self:
        event = super().__new__(cls, text)
        event.level = level
        event.fields = fields
        return event


class EventLog:
    def __init__(self, stream: TextIO, *, as_json: bool, now_ms: Callable[[], int] | None = None) -> None:
        self._stream = stream
        self._write = self._as_json if as_json else self._as_text
        self._now_ms = now_ms or _now_ms

    def __call__(self, text: str) -> None:
        """Who cannot be told any more, because the terminal is gone or the disk full, does not stop the broker."""
        event = text if isinstance(text, Event) else Event(text)
        try:
            self._stream.write(self._write(event) + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            return

    def _as_text(self, event: Event) -> str:
        now_ms = self._now_ms()
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now_ms // 1000))
        # Only a traceback has several lines; they are one event, and look like one.
        text = event.strip().replace("\n", "\n    ")
        return f"{when}.{now_ms % 1000:03d} {event.level.upper():7} {_printable(text)}"

    def _as_json(self, event: Event) -> str:
        import json

        now_ms = self._now_ms()
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now_ms // 1000))
        told = {"time": f"{when}.{now_ms % 1000:03d}Z", "level": event.level, "message": str(event).strip()}
        return json.dumps({**told, **event.fields}, default=str)


def _printable(text: str) -> str:
    """A client may call itself what it likes, and must not write to somebody's terminal with it."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in text)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
