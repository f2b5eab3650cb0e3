"""Many sockets for one task: a readiness queue of our own inside trio's loop.

A task for each connection costs a wake-up, a reschedule and two system calls for every request, twice as much as the
request itself. Here one task is woken, asks once which sockets are ready, and serves them one after the other.
"""

from __future__ import annotations

import select
from collections.abc import Callable

import trio

__all__ = ["NOTHING", "PEER_CLOSED", "READABLE", "WRITABLE", "Poller"]

READABLE = select.EPOLLIN
WRITABLE = select.EPOLLOUT
PEER_CLOSED = select.EPOLLRDHUP
NOTHING = 0
"""Broken connections are reported all the same."""

_AT_ONCE = 256
"""Sockets that are served before other tasks get their turn."""

_TOGETHER = 32
"""What is put off waits for so many others at most."""

_IN_A_ROW = 32
"""When so many have been served, it is other tasks' turn, even if more have become ready meanwhile."""

_LOOKS = 128
"""So often it looks for the next request of who asks again as soon as he is answered: some eighty microseconds. To
sleep and to be woken costs as much time of the processor, and twice as much of the client's."""

_TRY_EVERY = 16
"""Turns, to find out whether somebody does."""

Handler = Callable[[int], None]


class Poller:
    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._handlers: dict[int, Handler] = {}
        self._put_off: list[Callable[[], None]] = []

    def watch(self, descriptor: int, events: int, handler: Handler) -> None:
        self._handlers[descriptor] = handler
        self._epoll.register(descriptor, events)

    def change(self, descriptor: int, events: int) -> None:
        self._epoll.modify(descriptor, events)

    def forget(self, descriptor: int) -> None:
        """Before it is closed: the number may belong to another socket then."""
        if self._handlers.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    def put_off(self, action: Callable[[], None]) -> None:
        """A handler wants this done when the next few sockets have been served, too.

        An answer that is sent wakes its client, which is most of what sending costs. If several are sent one right
        after the other, a client that waits for all of them is woken by the first and finds the others there."""
        self._put_off.append(action)

    async def run(self) -> None:
        """Until cancelled. A handler that raises ends it: handlers keep what goes wrong to themselves."""
        epoll, handlers, put_off = self._epoll, self._handlers, self._put_off
        number = epoll.fileno()
        turns = 0
        pays = False
        while True:
            await trio.lowlevel.wait_readable(number)
            turns += 1
            looks = _LOOKS if pays or turns % _TRY_EVERY == 0 else 1
            pays = False
            served = 0
            while served < _IN_A_ROW and (ready := self._look(looks if served else 1)):
                pays = served > 0
                served += len(ready)
                for descriptor, events in ready:
                    # It may have been forgotten by a handler before.
                    handler = handlers.get(descriptor)
                    if handler is not None:
                        handler(events)
                    if len(put_off) >= _TOGETHER:
                        self._catch_up()
                if put_off:
                    self._catch_up()

    def _look(self, times: int) -> list[tuple[int, int]]:
        """Who is ready, or becomes so meanwhile."""
        poll = self._epoll.poll
        for _ in range(times):
            if ready := poll(0, _AT_ONCE):
                return ready
        return []

    def _catch_up(self) -> None:
        for action in self._put_off:
            action()
        self._put_off.clear()

    def close(self) -> None:
        self._epoll.close()
