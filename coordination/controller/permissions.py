"""What decisions ask of those who know who asks: may it, and how much. And what a request names more than once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

__all__ = ["anyone", "free", "repeated"]

Name = TypeVar("Name", bound=Hashable)


def anyone(_: object) -> bool:
    """Nothing is forbidden: there are no ACLs."""
    return True


def free(_: int) -> None:
    """Nothing is counted: there is no quota."""


def repeated(names: Iterable[Name]) -> list[Name]:
    """What comes more than once, each once, in the order in which the second one came."""
    seen: set[Name] = set()
    found: dict[Name, None] = {}
    for name in names:
        if name in seen:
            found[name] = None
        seen.add(name)
    return list(found)
