"""The poller: who is served, and when that is done which was put off."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import trio
import trio.testing

from barnabas.broker.poller import READABLE, Poller


@pytest.fixture
def sockets() -> Iterator[list[socket.socket]]:
    """A hundred that can be read."""
    with ExitStack() as stack:
        readable = []
        for _ in range(100):
            here, there = socket.socketpair()
            stack.enter_context(here)
            stack.enter_context(there).send(b"x")
            readable.append(here)
        yield readable


@pytest.mark.trio
async def test_what_is_put_off_is_done_once_and_after_a_few_others(sockets: list[socket.socket]) -> None:
    poller = Poller()
    happened: list[tuple[str, int]] = []

    def serve(number: int) -> None:
        sockets[number].recv(1)
        happened.append(("served", number))
        poller.put_off(lambda: happened.append(("sent", number)))

    for number, each in enumerate(sockets):
        poller.watch(each.fileno(), READABLE, lambda _, number=number: serve(number))  # type: ignore[misc]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(poller.run)
        with trio.fail_after(10):
            while len(happened) < 200:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    poller.close()
    served = [number for what, number in happened if what == "served"]
    sent = [number for what, number in happened if what == "sent"]
    assert sorted(served) == list(range(100))
    assert sent == served
    waited = [happened.index(("sent", number)) - happened.index(("served", number)) for number in served]
    assert 1 < max(waited) <= 32


@pytest.mark.trio
async def test_a_handler_may_forget_another_that_is_ready_too(sockets: list[socket.socket]) -> None:
    poller = Poller()
    served = []

    def serve(number: int) -> None:
        served.append(number)
        sockets[number].recv(1)
        for other, each in enumerate(sockets):
            if other != number:
                poller.forget(each.fileno())

    for number, each in enumerate(sockets):
        poller.watch(each.fileno(), READABLE, lambda _, number=number: serve(number))  # type: ignore[misc]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(poller.run)
        with trio.fail_after(10):
            while not served:
                await trio.lowlevel.checkpoint()
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    poller.close()
    assert len(served) == 1


@pytest.mark.trio
async def test_those_who_always_have_more_leave_others_their_turn(sockets: list[socket.socket]) -> None:
    poller = Poller()
    here = sockets[0]
    served = turns = 0

    def serve(_events: int) -> None:
        nonlocal served
        served += 1  # and it stays readable

    async def other() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    poller.watch(here.fileno(), READABLE, serve)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(poller.run)
        nursery.start_soon(other)
        with trio.fail_after(10):
            while served < 1_000:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    poller.close()
    assert turns >= served / 32 - 2
    assert turns <= served / 8
