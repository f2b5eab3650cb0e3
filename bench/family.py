"""A family: cells that are measured one after the other on what was started afresh for them, and warmed up."""

from __future__ import annotations

import pkgutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from bench.plan import Plan
from bench.side import Side
from bench.sound import sound
from bench.work import warm_up
from compat.brokers import broker_for

__all__ = [
    "ONE_NODE",
    "Families",
    "Family",
    "Function",
    "Start",
    "Value",
    "family",
    "kept",
    "rate_and_cost",
    "started",
]

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


S = TypeVar("S", bound=Side)
Started = TypeVar("Started", bound=Side, covariant=True)
Function = Callable[[S, Plan], Iterator[Value]]


class Start(Protocol[Started]):
    """Starts on a fresh directory, and ends it. Whoever looks at figures wants Kafka's JVMs `as_shipped`."""

    def __call__(self, which: str, *, as_shipped: bool = True) -> AbstractContextManager[Started]: ...


@dataclass(frozen=True, slots=True)
class Family(Generic[S]):
    name: str
    about: str
    function: Function[S]
    start: Start[S]
    warm_up: Callable[[S, float], None] | None

    def values(self, side: S, plan: Plan) -> Iterator[Value]:
        if self.warm_up is not None and plan.warm_up_s:
            self.warm_up(side, plan.warm_up_s)
            side.commands.clear()
        yield from self.function(side, plan)


class Families(Generic[S]):
    """Those whose cells are modules of one package, and register themselves when it is read."""

    def __init__(self, package: str, warm_up: Callable[[S, float], None]) -> None:
        self._package, self._warm_up = package, warm_up
        self._known: dict[str, Family[S]] = {}

    def add(self, name: str, function: Function[S], start: Start[S], *, is_warm: bool) -> None:
        """The function's docstring says what is measured, and is printed beside it."""
        assert function.__doc__ and name not in self._known, name
        about = " ".join(function.__doc__.split())
        self._known[name] = Family(name, about, function, start, self._warm_up if is_warm else None)

    def all(self) -> Sequence[Family[S]]:
        for module in pkgutil.iter_modules(import_module(self._package).__path__):
            import_module(f"{self._package}.{module.name}")
        return tuple(self._known.values())


@contextmanager
def started(which: str, *, as_shipped: bool = True) -> Iterator[Side]:
    """A broker on a fresh directory."""
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-", ignore_cleanup_errors=True) as root:
        broker = broker_for(which, Path(root), CONFIG, as_shipped=as_shipped)
        try:
            yield Side(broker, broker.start(), as_shipped=as_shipped)
        finally:
            broker.end()


@contextmanager
def kept(start: Start[S]) -> Iterator[Start[S]]:
    """Each broker is started once, and serves whoever asks for it, until the end or a trouble."""
    with ExitStack() as stack:
        there: dict[str, tuple[S, ExitStack]] = {}

        @contextmanager
        def once(which: str, *, as_shipped: bool = True) -> Iterator[S]:
            if which not in there:
                own = stack.enter_context(ExitStack())
                there[which] = own.enter_context(start(which, as_shipped=as_shipped)), own
            side, own = there[which]
            try:
                yield side
            except BaseException:
                del there[which]
                own.close()
                raise

        yield once


ONE_NODE: Families[Side] = Families("bench.cells", warm_up)


def family(name: str, *, is_warm: bool = True) -> Callable[[Function[Side]], Function[Side]]:
    """Of one broker."""

    def register(function: Function[Side]) -> Function[Side]:
        ONE_NODE.add(name, function, started, is_warm=is_warm)
        return function

    return register


def rate_and_cost(what: str, unit: str, *, count: float, per_second: float, used_s: float) -> Iterator[Value]:
    """How much was done a second, and the broker's processor time for a million of it."""
    yield Value(what, per_second, f"{unit}/s")
    yield Value(f"{what}: broker's CPU", used_s / count * 1e6, f"s/M {unit}", more_is_better=False)
