"""What a signal means, and what the same one means a moment later, or a while later."""

from __future__ import annotations

import io
import os
import signal

import pytest
import trio
import trio.testing

from barnabas.broker.event_log import EventLog
from barnabas.cli.start import _ECHO_S, _heed_signals


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


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> EventLog:
    def end(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr(os, "_exit", end)
    return EventLog(io.StringIO(), as_json=False)


@pytest.mark.trio
async def test_a_signal_that_comes_twice_is_one(log: EventLog, mock_clock: trio.testing.MockClock) -> None:
    """As make passes on the SIGTERM that everybody in its process group has got."""
    node = StoppableNode()
    with pytest.raises(ExceptionGroup) as caught:
        async with trio.open_nursery() as nursery:
            await nursery.start(_heed_signals, node, log)
            await sent(signal.SIGTERM)
            await sent(signal.SIGTERM)
            assert node.stops == 1
            mock_clock.jump(_ECHO_S)
            await sent(signal.SIGTERM)
    assert caught.group_contains(Ended, match=str(128 + signal.SIGTERM))


@pytest.mark.trio
async def test_another_signal_ends_it_at_once(log: EventLog, mock_clock: trio.testing.MockClock) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        async with trio.open_nursery() as nursery:
            await nursery.start(_heed_signals, StoppableNode(), log)
            await sent(signal.SIGTERM)
            await sent(signal.SIGINT)
    assert caught.group_contains(Ended, match=str(128 + signal.SIGINT))
