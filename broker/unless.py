"""Work that something may put an end to before it has come to its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

__all__ = ["StoppedEarly", "unless"]

T = TypeVar("T")


class StoppedEarly(Exception):  # noqa: N818 - what has happened
    """What it was to come to did not come."""


async def unless(happens: Callable[[], Awaitable[None]], work: Callable[[], Awaitable[T]]) -> T:
    """What the work comes to; StoppedEarly if that happens before."""

    async def watch() -> None:
        await happens()
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        result = await work()
        nursery.cancel_scope.cancel()
        return result
    raise StoppedEarly
