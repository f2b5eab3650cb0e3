"""A clean stop ends in time, whatever the controller or a disk does, and its marker vouches for what is there."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import trio
import trio.testing

from barnabas.broker.heartbeats import Heartbeats
from barnabas.broker.housekeeping import stopping
from barnabas.broker.housekeeping.stopping import close_directories
from barnabas.broker.node import Node, NodeFailed
from barnabas.storage.log import Log
from tests.broker.running import RunningNode
from tests.broker.test_produce_and_fetch import create, produce

from .breaking_disk import BreakingDisk

MARKER = ".kafka_cleanshutdown"


def test_a_controller_that_does_not_let_go_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = RunningNode(tmp_path / "data", barnabas_controlled_shutdown_timeout_ms="50").start()
    beat = Heartbeats.beat

    async def refusing(self: Heartbeats, *, want_shut_down: bool = False) -> bool:
        return await beat(self) and not want_shut_down

    monkeypatch.setattr(Heartbeats, "beat", refusing)
    running.stop()
    assert any("has not let this broker go within 50 ms" in line for line in running.lines)
    assert (tmp_path / "data" / MARKER).exists()


def test_a_node_that_fails_while_it_asks_to_be_let_go_asks_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it is the controller, it waits for an answer of its own, which does not come."""
    beat = Heartbeats.beat

    async def failing(self: Heartbeats, *, want_shut_down: bool = False) -> bool:
        if want_shut_down:
            self._node.fail("the disk is gone")
            await trio.sleep_forever()
        return await beat(self)

    monkeypatch.setattr(Heartbeats, "beat", failing)
    running = RunningNode(tmp_path / "data", barnabas_controlled_shutdown_timeout_ms="600000").start()
    with pytest.raises(NodeFailed, match="the disk is gone"):
        running.stop()


def test_who_was_let_go_says_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the controller would let it in again, and have it lead while its logs are closed."""
    said: list[bool] = []
    beat = Heartbeats.beat

    async def noted(self: Heartbeats, *, want_shut_down: bool = False) -> bool:
        said.append(want_shut_down)
        return await beat(self, want_shut_down=want_shut_down)

    async def slowly(node: Node) -> None:
        for _ in range(3):
            node.heartbeats.soon()
            await trio.testing.wait_all_tasks_blocked()
        await close_directories(node)

    monkeypatch.setattr(Heartbeats, "beat", noted)
    monkeypatch.setattr("barnabas.broker.node.close_directories", slowly)
    running = RunningNode(tmp_path / "data").start()
    running.stop()
    assert said[-1]
    assert True not in said[: said.index(True)]
    assert False not in said[said.index(True) :]


def test_who_is_let_go_as_soon_as_nobody_is_led_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    beat = Heartbeats.beat

    async def noted(self: Heartbeats, *, want_shut_down: bool = False) -> bool:
        answer = await beat(self, want_shut_down=want_shut_down)
        if want_shut_down:
            answers.append(answer)
        return answer

    monkeypatch.setattr(stopping, "_ASK_AGAIN_S", float("inf"))
    monkeypatch.setattr(Heartbeats, "beat", noted)
    running = RunningNode(tmp_path / "data", barnabas_controlled_shutdown_timeout_ms="60000")
    with running, running.client() as client:
        create(client)
    assert answers == [False, True]
    assert not any("has not let this broker go" in line for line in running.lines)


def test_without_a_controlled_shutdown_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = RunningNode(tmp_path / "data", controlled_shutdown_enable="false").start()
    asked = []

    async def noted(self: Heartbeats, *, want_shut_down: bool = False) -> bool:
        asked.append(want_shut_down)
        return True

    monkeypatch.setattr(Heartbeats, "beat", noted)
    running.stop()
    assert True not in asked
    assert (tmp_path / "data" / MARKER).exists()


def test_a_directory_that_fails_at_the_end_gets_no_marker_and_others_do(tmp_path: Path) -> None:
    disk = BreakingDisk()
    first, second = tmp_path / "a", tmp_path / "b"
    running = RunningNode(tmp_path, disk=disk)
    running.settings["log.dirs"] = f"{first},{second}"
    with running, running.client() as client:
        create(client, partitions=4)
        for number in range(4):
            produce(client, b"a", partition=number)
        disk.break_at(second, "sync")
    assert (first / MARKER).exists()
    assert not (second / MARKER).exists()


def test_the_marker_comes_after_every_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []
    close = Log.close

    def noted(self: Log) -> None:
        close(self)
        closed.append((tmp_path / "data" / MARKER).exists())

    with RunningNode(tmp_path / "data") as running, running.client() as client:
        create(client, partitions=10)
        monkeypatch.setattr(Log, "close", noted)
    assert len(closed) >= 10
    assert not any(closed[:10])
    assert (tmp_path / "data" / MARKER).exists()


@pytest.mark.slow
def test_a_thousand_partitions_are_left_within_seconds(tmp_path: Path) -> None:
    running = RunningNode(tmp_path / "data").start()
    with running.client() as client:
        for number in range(10):
            create(client, f"topic-{number}", partitions=100)
    began = time.monotonic()
    running.stop()
    assert time.monotonic() - began < 10
    assert (tmp_path / "data" / MARKER).exists()
