"""SIGINT and SIGTERM as a word that is said, and not as an exception between any two lines."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["told_to_end"]

_ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def told_to_end() -> Iterator[list[int]]:
    """The signals that have come."""
    told: list[int] = []

    def remember(number: int, _frame: FrameType | None) -> None:
        told.append(number)

    before = {number: signal.signal(number, remember) for number in _ENDING}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
