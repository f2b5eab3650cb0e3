"""Where a dump goes: lines as Kafka's tool prints them, or one JSON value a line. Both may be many millions."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

__all__ = ["Sink"]

_LINES_AT_ONCE = 4096


class Sink:
    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._lines: list[str] = []

    def line(self, text: str) -> None:
        """For people and scripts: nothing of it is said with --json."""
        if not self.as_json:
            self._add(text)

    def json(self, value: Any) -> None:
        if self.as_json:
            self._add(msgspec.json.encode(value).decode())

    def problem(self, text: str, value: Any = None) -> None:
        """What is wrong with a file: to standard error, as in Kafka's tool; with --json it is a value like others."""
        if self.as_json:
            self.json(value)
            return
        self.flush()
        print(text, file=sys.stderr)  # noqa: T201

    def _add(self, text: str) -> None:
        self._lines.append(text)
        if len(self._lines) >= _LINES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Bytes that are no text may be in a record: they are shown as they are not."""
        if self._lines:
            text = "\n".join(self._lines) + "\n"
            self._lines.clear()
            try:
                sys.stdout.write(text)
            except UnicodeEncodeError:
                sys.stdout.write(text.encode(sys.stdout.encoding, "replace").decode(sys.stdout.encoding))
        sys.stdout.flush()
