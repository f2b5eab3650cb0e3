"""What the two brokers call the same thing: a value for each, which a later request hands back to whom it came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Both", "of_side"]


class Both:
    """Behaves like the answer that it stands for as far as one can look into it: `answer["Topics"][0]["TopicId"]` is
    both brokers' ids, and may stand in the next request."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def __getitem__(self, key: Any) -> Both:
        return self.map(lambda value: value[key])

    def map(self, function: Callable[[Any], Any]) -> Both:
        return Both(*map(function, self.values))

    def __repr__(self) -> str:
        return f"Both{self.values}"


def of_side(value: Any, side: int) -> Any:
    """The same value as the one side is told it."""
    if isinstance(value, Both):
        return of_side(value.values[side], side)
    if isinstance(value, dict):
        return {name: of_side(each, side) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [of_side(each, side) for each in value]
    return value
