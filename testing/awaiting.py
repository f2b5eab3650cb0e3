"""Waiting, in a loop of trio or asyncio, for what the loop of another thread does; no thread waits for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import trio

from barnabas.testing.errors import says_all
from barnabas.testing.loop_thread import Promise

__all__ = ["awaited"]

__tracebackhide__ = says_all

T = TypeVar("T")


async def awaited(promise: Promise[T], give_up: Callable[[], object]) -> T:
    """`give_up` is called if the caller is cancelled."""
    try:
        if _is_trio():
            await _in_trio(promise)
        else:
            await _in_asyncio(promise)
    except BaseException:
        give_up()
        raise
    return promise.result()


def _is_trio() -> bool:
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


async def _in_trio(promise: Promise[T]) -> None:
    done, token = trio.Event(), trio.lowlevel.current_trio_token()

    def tell() -> None:
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(done.set)

    promise.when_done(tell)
    await done.wait()


async def _in_asyncio(promise: Promise[T]) -> None:
    import asyncio

    done, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell() -> None:
        with suppress(RuntimeError):  # that loop is closed
            loop.call_soon_threadsafe(done.set)

    promise.when_done(tell)
    await done.wait()
