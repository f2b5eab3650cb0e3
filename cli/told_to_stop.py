"""What tells a broker, or all nodes of a cluster, to stop: a signal, or the end of the process that started them."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import NamedTuple, Protocol

import trio

from barnabas.broker.event_log import Event, EventLog, Level
from barnabas.cli.ephemeral import parent_gone

__all__ = ["ECHO_S", "Words", "heed_signals", "stop_with"]

ECHO_S = 0.5
"""The same signal so soon after the first is no second wish: make passes on what its whole process group has got."""


class Stoppable(Protocol):
    @property
    def is_stopping(self) -> bool: ...

    def stop(self) -> None: ...


class Words(NamedTuple):
    who: str
    stops: str


async def heed_signals(
    told: Stoppable,
    words: Words,
    log: EventLog,
    end_at_once: Callable[[int], None],
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """The first is a wish for a clean stop, the next the end, with the exit code that a shell gives to it."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        first, first_s = 0, 0.0
        async for number in signals:
            name = signal.Signals(number).name
            if number == first and trio.current_time() < first_s + ECHO_S:
                continue
            if told.is_stopping:
                log(Event(f"{name} again: everything ends at once, as by kill -9", Level.WARNING))
                end_at_once(128 + number)
            first, first_s = number, trio.current_time()
            log(f"{name}: {words.stops}; another {name} ends everything at once")
            told.stop()


async def stop_with(parent: int, told: Stoppable, words: Words, log: EventLog) -> None:
    await parent_gone(parent)
    log(f"process {parent}, which started {words.who}, has ended: {words.stops}")
    told.stop()
