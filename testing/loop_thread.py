"""A thread with an event loop of its own, which other threads ask to do something and wait for.

    thread = LoopThread("broker")
    thread.start()
    thread.do(lambda: ...)             # in the loop, between two tasks
    thread.carry_out(async_function)   # in the loop, as a task
    thread.tell_to_end()
    thread.join()

Whoever waits can be interrupted (Ctrl-C), and what he waited for is cancelled then. If the loop ends first he is told.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

import trio

from barnabas.testing.errors import SAYS_ALL, BrokerFailed, says_all

__all__ = ["LoopThread", "Promise"]

__tracebackhide__ = says_all

T = TypeVar("T")

START_S = 30
END_S = 10


class Promise(Generic[T]):
    """What will come of something that the loop was asked to do."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._value: T
        self._failure: BaseException | None = None
        self._callback: Callable[[], object] | None = None
        self._lock = threading.Lock()
        self.scope: trio.CancelScope | None = None

    def keep(self, value: T) -> None:
        self._value = value
        self._settle()

    def fail(self, failure: BaseException) -> None:
        self._failure = failure
        self._settle()

    def _settle(self) -> None:
        with self._lock:
            self._done.set()
            callback, self._callback = self._callback, None
        if callback is not None:
            callback()

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    def when_done(self, callback: Callable[[], object]) -> None:
        """Called once, in the loop's thread, or at once if it is done."""
        with self._lock:
            if not self._done.is_set():
                self._callback = callback
                return
        callback()

    def wait(self, timeout_s: float | None = None) -> T:
        if not self._done.wait(timeout_s):
            raise BrokerFailed(f"the broker did not answer within {timeout_s:g} s")
        return self.result()

    def result(self) -> T:
        if isinstance(self._failure, SAYS_ALL):
            raise self._failure.with_traceback(None)
        if self._failure is not None:
            raise self._failure
        return self._value


class LoopThread:
    def __init__(self, name: str) -> None:
        self._name = name
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._token: trio.lowlevel.TrioToken
        self._nursery: trio.Nursery
        self._process = os.getpid()
        self._is_over = False
        self.failure: BaseException | None = None
        """What ended the loop that should not have."""

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and not self._is_over and self._process == os.getpid()

    @property
    def is_current(self) -> bool:
        return self._thread is threading.current_thread()

    @property
    def nursery(self) -> trio.Nursery:
        """For what lives as long as the loop; to be used in it."""
        return self._nursery

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()
        if not self._ready.wait(START_S):
            raise BrokerFailed(f"the thread of the broker did not start within {START_S} s")
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as error:  # noqa: BLE001 - told to whoever asks for something
            self.failure = error
        finally:
            self._is_over = True
            self._ready.set()

    async def _main(self) -> None:
        async with trio.open_nursery() as self._nursery:
            self._token = trio.lowlevel.current_trio_token()
            self._ready.set()
            await trio.sleep_forever()

    # Asking

    def do(self, action: Callable[[], T]) -> T:
        return self.begin_to_do(action).wait()

    def carry_out(self, action: Callable[[], Awaitable[T]]) -> T:
        return self.begin(action).wait()

    def begin_to_do(self, action: Callable[[], T]) -> Promise[T]:
        promise: Promise[T] = Promise()
        self._post(promise, partial(_do, action, promise))
        return promise

    def begin(self, action: Callable[[], Awaitable[T]]) -> Promise[T]:
        promise: Promise[T] = Promise()
        self._post(promise, partial(self._spawn, action, promise))
        return promise

    def give_up(self, promise: Promise[T]) -> None:
        """Nobody waits for it any more."""

        def cancel() -> None:
            if promise.scope is not None:
                promise.scope.cancel()

        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(cancel)

    def _post(self, promise: Promise[T], action: Callable[[], None]) -> None:
        if self.is_current:
            raise RuntimeError(
                "the broker was asked in its own thread, where it would wait for itself: "
                "a function that it is given, as matching=, has to do without it"
            )
        if not self.is_alive:
            promise.fail(_gone() if self._process == os.getpid() else _elsewhere(self._process))
            return
        try:
            self._token.run_sync_soon(action)
        except trio.RunFinishedError:
            promise.fail(_gone())

    def _spawn(self, action: Callable[[], Awaitable[T]], promise: Promise[T]) -> None:
        if self._nursery.cancel_scope.cancel_called:
            promise.fail(_gone())
            return
        promise.scope = trio.CancelScope()
        self._nursery.start_soon(_carry_out, action, promise)

    # The end

    def tell_to_end(self) -> None:
        """Without waiting for it: for a finalizer, which may run in any thread."""
        if self.is_alive:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._cancel)

    def _cancel(self) -> None:
        self._nursery.cancel_scope.cancel()

    def join(self) -> None:
        if self._thread is not None and self._process == os.getpid():
            self._thread.join(END_S)


def _do(action: Callable[[], T], promise: Promise[T]) -> None:
    try:
        promise.keep(action())
    except BaseException as error:  # noqa: BLE001 - it is the asker's
        promise.fail(error)


async def _carry_out(action: Callable[[], Awaitable[T]], promise: Promise[T]) -> None:
    assert promise.scope is not None
    try:
        with promise.scope:
            promise.keep(await action())
    except Exception as error:  # noqa: BLE001 - it is the asker's
        promise.fail(error)
    finally:
        if not promise.is_done:
            promise.fail(_gone())


def _gone() -> BrokerFailed:
    return BrokerFailed("the broker is closed: start it again with start(), or use it inside its `with`")


def _elsewhere(process: int) -> BrokerFailed:
    return BrokerFailed(
        f"the broker runs in process {process}, from which this one was forked: only its port can be used from here"
    )
