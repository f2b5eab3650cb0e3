"""Scenarios by name: plain functions that ask twins, once for each version of the API that they are about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compat.twin.twins import Twins

__all__ = ["Scenario", "all_scenarios", "scenario"]

Function = Callable[["Twins"], None]


@dataclass(frozen=True, slots=True)
class Scenario:
    api: str
    function: Function
    first: int
    last: int
    """Versions for which it makes sense; others have nothing to say it with."""
    settings: frozenset[tuple[str, str]]
    """What its brokers are told beyond what all are told. Those who want the same share two brokers."""

    @property
    def name(self) -> str:
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"


_scenarios: list[Scenario] = []


def scenario(api: str, *, first: int = 0, last: int = 32_767, **settings: str) -> Callable[[Function], Function]:
    """Settings are written with underscores."""
    told = frozenset((key.replace("_", "."), value) for key, value in settings.items())

    def register(function: Function) -> Function:
        _scenarios.append(Scenario(api, function, first, last, told))
        return function

    return register


def all_scenarios() -> Iterator[Scenario]:
    """In the order of their files, and there in the order in which they stand."""
    from compat.twin import scenarios

    for module in sorted(iter_modules(scenarios.__path__), key=lambda each: each.name):
        import_module(f"{scenarios.__name__}.{module.name}")
    yield from _scenarios
