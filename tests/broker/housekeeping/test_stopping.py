"""A clean stop ends in time, whatever the controller or a disk does, and its marker vouches for what is there."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from barnabas.broker.heartbeats import Heartbeats
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
