"""A broker's thread, port and data, whoever asks it: what `Broker` and `AsyncBroker` have in common."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, TypeVar

from barnabas.testing.clock import Clock
from barnabas.testing.errors import BrokerFailed, says_all
from barnabas.testing.faults import Faults
from barnabas.testing.history import History
from barnabas.testing.host import HOST, Host, Place, when_idle
from barnabas.testing.interception import Interception
from barnabas.testing.loop_thread import LoopThread, Promise
from barnabas.testing.settings import broker_settings

if TYPE_CHECKING:
    from barnabas.broker.network import Network
    from barnabas.storage.disk import Disk

__all__ = ["KNOWN", "Embedded"]

__tracebackhide__ = says_all

T = TypeVar("T")

_LAST_PORT = 65_535
_NOT_OPEN = "the broker is closed: use it inside its `with`, or call start() first"

KNOWN: weakref.WeakSet[Embedded] = weakref.WeakSet()
"""All that were opened and that somebody still has: a test that fails tells what they saw (pytest_report.py)."""


class Embedded:
    def __init__(
        self,
        data_dir: str | PathLike[str] | None,
        partitions: int,
        settings: Mapping[str, object],
        clock: Clock,
        port: int,
    ) -> None:
        if not 0 <= port <= _LAST_PORT:
            raise ValueError(f"port={port}: ports go to {_LAST_PORT}, and 0 takes one that is free")
        self._settings = broker_settings(data_dir, partitions, settings)
        self.clock = clock
        self.faults = Faults()
        self.history = History(clock.now_ms)
        self.interception = Interception(self.faults, self.history)
        self.keeps_data = data_dir is not None
        self._port = port
        self.network: Network | None = None
        """How it reaches others, if it is one of several."""
        self.more_settings: Callable[[int], Mapping[str, str]] = _alone
        """What follows from its port."""
        self._host: Host | None = None
        self._thread: LoopThread | None = None
        self._place: Place | None = None
        self._finalizer: weakref.finalize[..., Embedded] | None = None

    @property
    def is_open(self) -> bool:
        return self._thread is not None and self._thread.is_alive

    @property
    def port(self) -> int:
        if self._place is None:
            raise BrokerFailed("the broker has no port yet: use it inside its `with`, or call start() first")
        return self._place.port

    @property
    def host(self) -> Host:
        if self._host is None:
            raise BrokerFailed(_NOT_OPEN)
        return self._host

    def open(self) -> None:
        """Its thread and its port; nothing listens there yet."""
        place = Place(self._port)
        settings = {**self._settings, **self.more_settings(place.port)}
        thread = LoopThread(f"broker at {HOST}:{place.port}")
        try:
            thread.start()
        except BaseException:
            place.close()
            raise
        settle = partial(_settle, thread)
        self.clock.call_after_advance(settle)
        self._place, self._thread = place, thread
        self._host = Host(settings, self._new_disk(), self.clock, thread, self.history, self.interception, self.network)
        self._finalizer = weakref.finalize(self, _let_go, thread, place, self.clock, settle)
        self._finalizer.atexit = False
        _all_open.add(self)
        KNOWN.add(self)

    def _new_disk(self) -> Disk | None:
        """None: as the configuration says."""
        if self.keeps_data:
            return None
        from barnabas.storage.memory_disk import MemoryDisk

        return MemoryDisk()

    def close(self) -> None:
        """The thread ends, whatever the broker does, and the port is free. Nothing is left of data in memory."""
        thread, self._thread, self._host = self._thread, None, None
        _all_open.discard(self)
        if thread is not None:
            assert self._finalizer is not None
            found = self._finalizer.detach()  # it is not to be called any more when Python itself ends
            if found is not None:
                _, let_go, arguments, _ = found
                let_go(*arguments)
            thread.join()

    def let_go(self) -> None:
        """In a process that was forked."""
        if self._place is not None and self._host is not None:
            self._place.close()
            self._host.let_go()

    def stop_and_close(self) -> None:
        """A directory is closed cleanly first."""
        try:
            if self.is_open and self.keeps_data:
                self.carry_out(lambda host: host.stop())
        finally:
            self.close()

    # Asking

    def begin(self, action: Callable[[Host], Awaitable[T]]) -> Promise[T]:
        if self._thread is None:
            raise BrokerFailed(_NOT_OPEN)
        return self._thread.begin(partial(action, self.host))

    def carry_out(self, action: Callable[[Host], Awaitable[T]]) -> T:
        """A task in the loop; whoever waits for it can be interrupted."""
        promise = self.begin(action)
        try:
            return promise.wait()
        except BaseException:
            self.give_up(promise)
            raise

    def give_up(self, promise: Promise[T]) -> None:
        if self._thread is not None and not promise.is_done:
            self._thread.give_up(promise)

    def do(self, action: Callable[[Host], T]) -> T:
        """In the loop, between two requests."""
        if self._thread is None:
            raise BrokerFailed(_NOT_OPEN)
        return self._thread.do(partial(action, self.host))

    def begin_to_do(self, action: Callable[[Host], T]) -> Promise[T]:
        """The same, and nobody waits for it yet."""
        if self._thread is None:
            raise BrokerFailed(_NOT_OPEN)
        return self._thread.begin_to_do(partial(action, self.host))

    def report(self, last: int) -> str:
        where = "the broker" if self._place is None else f"the broker at {HOST}:{self.port}"
        return self.history.report(where, self.faults, last)


def _alone(port: int) -> dict[str, str]:
    return {"listeners": f"PLAINTEXT://{HOST}:{port}"}


def _settle(thread: LoopThread) -> None:
    if thread.is_alive and not thread.is_current:
        thread.carry_out(when_idle)


def _let_go(thread: LoopThread, place: Place, clock: Clock, settle: Callable[[], object]) -> None:
    """Also when nobody has the broker any more, in whatever thread that is noticed."""
    clock.call_no_more(settle)
    thread.tell_to_end()
    place.close()


_all_open: weakref.WeakSet[Embedded] = weakref.WeakSet()


def _close_all() -> None:
    """Who forgot to close a broker does not wait for it, and a directory is closed cleanly."""
    for embedded in list(_all_open):
        with suppress(BrokerFailed):
            embedded.stop_and_close()


def _let_go_of_all() -> None:
    for embedded in list(_all_open):
        embedded.let_go()
    _all_open.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_let_go_of_all)
