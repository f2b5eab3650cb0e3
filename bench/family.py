"""A family: cells that are measured one after the other on one fresh broker, which has been warmed up."""

from __future__ import annotations

import pkgutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from bench import cells
from bench.plan import Plan
from bench.side import Side
from bench.sound import sound
from bench.work import warm_up
from compat.brokers import broker_for

__all__ = ["Family", "Value", "all_families", "family", "rate_and_cost", "started"]

CONFIG = {"group.initial.rebalance.delay.ms": "0"}
"""What both brokers are told beside their defaults: to wait for members that may come is no work."""


@dataclass(frozen=True, slots=True)
class Value:
    what: str
    number: float
    unit: str
    more_is_better: bool = True
    scale: int | None = None
    """Of what grows: values of the same name are one curve, and are no cells of their own."""

    def __post_init__(self) -> None:
        sound(self.what, self.number)


Function = Callable[[Side, Plan], Iterator[Value]]


@dataclass(frozen=True, slots=True)
class Family:
    name: str
    about: str
    function: Function
    is_warm: bool

    def values(self, side: Side, plan: Plan) -> Iterator[Value]:
        if self.is_warm and plan.warm_up_s:
            warm_up(side, plan.warm_up_s)
            side.commands.clear()
        yield from self.function(side, plan)


_families: dict[str, Family] = {}


def family(name: str, *, is_warm: bool = True) -> Callable[[Function], Function]:
    """Its docstring says what is measured, and is printed beside it."""

    def register(function: Function) -> Function:
        assert function.__doc__ and name not in _families, name
        _families[name] = Family(name, " ".join(function.__doc__.split()), function, is_warm)
        return function

    return register


@cache
def all_families() -> tuple[Family, ...]:
    for module in pkgutil.iter_modules(cells.__path__):
        import_module(f"{cells.__name__}.{module.name}")
    return tuple(_families.values())


@contextmanager
def started(which: str, *, as_shipped: bool = True) -> Iterator[Side]:
    """A broker on a fresh directory. Whoever looks at figures wants Kafka's JVMs `as_shipped`."""
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-", ignore_cleanup_errors=True) as root:
        broker = broker_for(which, Path(root), CONFIG, as_shipped=as_shipped)
        try:
            yield Side(broker, broker.start(), as_shipped=as_shipped)
        finally:
            broker.end()


def rate_and_cost(what: str, unit: str, *, count: float, per_second: float, used_s: float) -> Iterator[Value]:
    """How much was done a second, and the broker's processor time for a million of it."""
    yield Value(what, per_second, f"{unit}/s")
    yield Value(f"{what}: broker's CPU", used_s / count * 1e6, f"s/M {unit}", more_is_better=False)
