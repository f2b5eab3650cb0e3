"""Who waits for records of a group to be committed is answered by one task, however fast commits follow each other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import trio

from barnabas.broker.group_coordinator import GroupCoordinator, _Led
from barnabas.coordination.groups import GroupConfig
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.messages.heartbeat import HeartbeatResponse
from barnabas.replication.watermark import Watermark


def test_one_task_delivers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each turn of the loop brings the news that the last records count, and a request with another."""
    log = SimpleNamespace(end_offset=0)
    partition: Any = SimpleNamespace(high_watermark=Watermark(0), log=log)
    led = _Led(partition, GroupConfig())
    monkeypatch.setattr(led.shard, "apply", lambda _outcome, _offset: None)
    tasks: list[int] = []

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            coordinator: Any = GroupCoordinator.__new__(GroupCoordinator)
            coordinator._node = nursery
            coordinator._wake = trio.Event()
            for _ in range(50):
                log.end_offset += 1
                coordinator._apply(led, Outcome(reply=HeartbeatResponse()), log.end_offset - 1)
                for _ in range(2):
                    await trio.lowlevel.checkpoint()
                tasks.append(len(nursery.child_tasks))
                partition.high_watermark.advance(log.end_offset)
        assert not led.uncommitted

    trio.run(main)
    assert max(tasks) == 1
