"""A record as a test sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = ["Record"]

_SHOWN_LETTERS = 60


@dataclass(frozen=True, slots=True)
class Record:
    topic: str
    partition: int
    offset: int
    timestamp: int
    """In milliseconds since 1970."""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def __str__(self) -> str:
        """In a line, as failing tests show it."""
        return f"{self.topic}-{self.partition} @{self.offset} key={_short(self.key)} value={_short(self.value)}"

    @property
    def text(self) -> str | None:
        """The value as UTF-8; None of a tombstone."""
        with self._named():
            return None if self.value is None else self.value.decode()

    @property
    def key_text(self) -> str | None:
        """The key as UTF-8."""
        with self._named():
            return None if self.key is None else self.key.decode()

    def json(self) -> Any:
        """What the value says as JSON."""
        import json

        with self._named():
            if self.value is None:
                raise ValueError("a tombstone has no value")
            return json.loads(self.value)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """An error says which record it is of."""
        try:
            yield
        except ValueError as error:
            error.add_note(f"It is of {self}")
            raise

    def header(self, name: str) -> bytes | None:
        """The last one of that name, as Kafka's lastHeader."""
        return next((value for key, value in reversed(self.headers) if key == name), None)


def _short(value: bytes | None) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN_LETTERS else f"{shown[:_SHOWN_LETTERS]}… ({len(value or b'')} bytes)"
