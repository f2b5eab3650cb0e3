"""The poller: who is served, and when that is done which was put off."""

from __future__ import annotations

import select
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


class Asking:
    """A client that sends its next request some time after it was answered: after so many looks of the poller, or when
    nobody looks any more. It stands in for the poller's epoll, to know."""

    def __init__(self, epoll: select.epoll, client: socket.socket, after: int, requests: int) -> None:
        self.looks = 0
        self.turns = 0
        self._epoll = epoll
        self._client = client
        self._after = after
        self._left = requests
        self._looked = 0

    def fileno(self) -> int:
        return self._epoll.fileno()

    def register(self, descriptor: int, events: int) -> None:
        self._epoll.register(descriptor, events)

    def close(self) -> None:
        self._epoll.close()

    def poll(self, timeout: float, most: int) -> list[tuple[int, int]]:
        self.looks += 1
        if ready := self._epoll.poll(timeout, most):
            self._looked = 0
        else:
            self._looked += 1
            if self._looked == self._after:
                self.ask()
        return ready

    def ask(self) -> None:
        if self._left:
            self._left -= 1
            self._client.send(b"x")

    async def wait_readable(self, _number: int) -> None:
        self.turns += 1
        if not self._left:
            await trio.sleep_forever()
        if self._looked < self._after:
            self.ask()
        self._looked = 0
        await trio.lowlevel.checkpoint()


REQUESTS = 320


@pytest.mark.trio
@pytest.mark.parametrize(
    ("after", "turns", "looks"),
    [
        # Found out in the sixteenth turn, and from then on 32 requests are one turn.
        (50, range(16 + 304 // 32, 40), range(REQUESTS * 50)),
        # It is too slow to be waited for: every sixteenth turn finds that out again.
        (1_000, range(REQUESTS, REQUESTS + 2), range(2 * REQUESTS, 2 * REQUESTS + 21 * 128)),
    ],
    ids=["at once", "later"],
)
async def test_who_asks_again_at_once_is_waited_for(
    after: int, turns: range, looks: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    poller = Poller()
    here, there = socket.socketpair()
    asking = Asking(poller._epoll, there, after, REQUESTS)
    poller._epoll = asking  # type: ignore[assignment]
    served = bytearray()
    poller.watch(here.fileno(), READABLE, lambda _: served.extend(here.recv(100)))
    with here, there:
        async with trio.open_nursery() as nursery:
            monkeypatch.setattr("barnabas.broker.poller.trio.lowlevel.wait_readable", asking.wait_readable)
            nursery.start_soon(poller.run)
            with trio.fail_after(10):
                while len(served) < REQUESTS:
                    await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        poller.close()
    assert asking.turns in turns
    assert asking.looks in looks
