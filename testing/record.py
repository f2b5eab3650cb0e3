"""A record as a test sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Record"]


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

    @property
    def text(self) -> str | None:
        """The value as UTF-8; None of a tombstone."""
        return None if self.value is None else self.value.decode()

    @property
    def key_text(self) -> str | None:
        return None if self.key is None else self.key.decode()

    def json(self) -> Any:
        """What the value says as JSON."""
        if self.value is None:
            raise ValueError(f"{self.topic}-{self.partition} at offset {self.offset} is a tombstone: it has no value")
        import json

        return json.loads(self.value)

    def header(self, name: str) -> bytes | None:
        """The last one of that name, as Kafka's lastHeader."""
        return next((value for key, value in reversed(self.headers) if key == name), None)
