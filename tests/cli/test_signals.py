"""What a signal means, and what the same one means a moment later, or a while later."""

from __future__ import annotations

import io
import signal

import pytest
import trio
import trio.testing

from barnabas.broker.event_log import EventLog
from barnabas.cli.told_to_stop import ECHO_S, Words, heed_signals

WORDS = Words("this", "it stops")


class Ended(Exception):  # noqa: N818 - what a process is then
    """Where the process would be gone."""


class StoppableNode:
    def __init__(self) -> None:
        self.stops = 0

    @property
    def is_stopping(self) -> bool:
        return self.stops > 0

    def stop(self) -> None:
        self.stops += 1


async def sent(number: int) -> None:
    signal.raise_signal(number)
    await trio.testing.wait_all_tasks_blocked()


def end(code: int) -> None:
    raise Ended(code)


def log() -> EventLog:
    return EventLog(io.StringIO(), as_json=False)


@pytest.mark.trio
async def test_a_signal_that_comes_twice_is_one(mock_clock: trio.testing.MockClock) -> None:
    """As make passes on the SIGTERM that everybody in its process group has got."""
    node = StoppableNode()
    with pytest.raises(ExceptionGroup) as caught:
        async with trio.open_nursery() as nursery:
            await nursery.start(heed_signals, node, WORDS, log(), end)
            await sent(signal.SIGTERM)
            await sent(signal.SIGTERM)
            assert node.stops == 1
            mock_clock.jump(ECHO_S)
            await sent(signal.SIGTERM)
    assert caught.group_contains(Ended, match=str(128 + signal.SIGTERM))


@pytest.mark.trio
async def test_another_signal_ends_it_at_once(mock_clock: trio.testing.MockClock) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        async with trio.open_nursery() as nursery:
            await nursery.start(heed_signals, StoppableNode(), WORDS, log(), end)
            await sent(signal.SIGTERM)
            await sent(signal.SIGINT)
    assert caught.group_contains(Ended, match=str(128 + signal.SIGINT))
