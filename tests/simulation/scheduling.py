"""One seed decides everything: in which order tasks run, how long work in threads takes, and what time it is.

Tasks belong to who started them (`HOME`), and those of who is paused are held back until it goes on, as a process is
that was stopped: deadlines pass meanwhile.
"""

from __future__ import annotations

import random
import threading
import time as real_time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest.mock import patch

import outcome
import trio
from trio._core import _run as trio_run

from barnabas.broker.connection import Connection
from barnabas.replication.following import Following
from barnabas.replication.partition import Partition
from barnabas.storage.log import Log

__all__ = ["HOME", "Home", "deterministic"]

T = TypeVar("T")

_A_LOOK_NS = 2_000
"""Of the processor's time goes by with each look at the clock."""


class Home:
    """Of tasks that are paused together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.paused = False
        self._held: list[tuple[trio.lowlevel.Task, object]] = []

    def hold(self, task: trio.lowlevel.Task, next_send: object) -> None:
        task._abort_func = None  # it sleeps no more, and a cancellation that comes now is its next checkpoint's
        self._held.append((task, next_send))

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False
        held, self._held = self._held, []
        for task, next_send in held:
            trio.lowlevel.reschedule(task, next_send)  # type: ignore[arg-type] # it was given so


HOME: ContextVar[Home | None] = ContextVar("HOME", default=None)

_NO_SEND = trio_run._NO_SEND
_reschedule = trio_run.Runner.reschedule


def _reschedule_unless_paused(runner: Any, task: trio.lowlevel.Task, next_send: Any = _NO_SEND) -> None:
    home = task.context.get(HOME)
    if home is not None and home.paused:
        home.hold(task, next_send)
    else:
        _reschedule(runner, task, next_send)


class _Here:
    """The thread in which a simulation runs."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    @property
    def is_here(self) -> bool:
        return threading.get_ident() == self._thread


class _Chance(_Here, random.Random):
    """Of trio, which draws by it in which order tasks run."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._here, self._elsewhere = random.Random(seed), random.Random()

    @property
    def _generator(self) -> random.Random:
        return self._here if self.is_here else self._elsewhere

    def random(self) -> float:
        return self._generator.random()

    def getrandbits(self, k: int) -> int:
        return self._generator.getrandbits(k)


class _Threads(_Here):
    """Work in a thread is done at once, at some moment of the time that it takes."""

    _in_a_thread = staticmethod(trio.to_thread.run_sync)

    def __init__(self, generator: random.Random) -> None:
        super().__init__()
        self._generator = generator
        self._typical_s = generator.choice([0.0001, 0.001, 0.01])

    async def run_sync(self, work: Callable[..., T], *args: object, **options: Any) -> T:
        """Nothing ends a thread."""
        if not self.is_here:
            return await self._in_a_thread(work, *args, **options)
        await trio.lowlevel.checkpoint()
        with trio.CancelScope(shield=True):
            await trio.sleep(self._typical_s * self._generator.expovariate(1))
            result = outcome.capture(work, *args)
            await trio.sleep(self._typical_s * self._generator.expovariate(1))
        return result.unwrap()


class _Time(_Here):
    """The module `time`, for those who ask it without the node's clock."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = 0

    def nanoseconds(self) -> int:
        if not self.is_here:
            return real_time.monotonic_ns()
        self._looks += 1
        return round(trio.current_time() * 1e9) + self._looks * _A_LOOK_NS

    def module(self) -> SimpleNamespace:
        return SimpleNamespace(
            monotonic=lambda: self.nanoseconds() / 1e9,
            monotonic_ns=self.nanoseconds,
            perf_counter_ns=self.nanoseconds,
            time_ns=self.nanoseconds,
        )


_IN_SETS: tuple[type[Any], ...] = (Connection, Following, Log, Partition)
"""What nodes keep in sets, and take from there in an order that depends on where in memory it lies."""


class _Numbers(_Here):
    """By which these lie in sets in an order that is the same in every run."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[int, int] = {}
        self._next = 0

    def begin(self, thing: object) -> None:
        if not self.is_here:
            return
        self._next += 1
        self._numbers[id(thing)] = self._next

    def patched(self, kind: type[Any]) -> Iterator[AbstractContextManager[Any]]:
        begin = kind.__init__

        def __init__(thing: Any, *args: Any, **options: Any) -> None:  # noqa: N807
            self.begin(thing)
            begin(thing, *args, **options)

        yield patch.object(kind, "__init__", __init__)
        yield patch.object(kind, "__hash__", lambda thing: self._numbers.get(id(thing), id(thing)))


@contextmanager
def deterministic(seed: int) -> Iterator[None]:
    """For one `trio.run` inside. Other threads, in which other tests may have nodes that run, have all as it was."""
    time = _Time()
    module = time.module()
    numbers = _Numbers()
    with (
        ExitStack() as stack,
        patch.object(trio_run, "_r", _Chance(seed)),
        patch.object(trio_run, "_ALLOW_DETERMINISTIC_SCHEDULING", True),
        patch.object(trio_run.Runner, "reschedule", _reschedule_unless_paused),
        patch.object(trio.to_thread, "run_sync", _Threads(random.Random(f"threads {seed}")).run_sync),
        patch("barnabas.broker.connection.monotonic_ns", time.nanoseconds),
        patch("barnabas.broker.housekeeping.loading.time", module),
        patch("barnabas.broker.listener.time", module),
        patch("barnabas.broker.producing.time", module),
        patch("barnabas.broker.throttling.time", module),
    ):
        for kind in _IN_SETS:
            for each in numbers.patched(kind):
                stack.enter_context(each)
        yield
