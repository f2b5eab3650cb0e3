"""A node that starts after a clean stop reads nothing; one that starts after a kill reads what may not be whole, in
processes where it is much, and serves what it served before."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from barnabas.broker.housekeeping import loading
from barnabas.broker.housekeeping.recovery_process import RecoveryProcess
from barnabas.storage.recovery_worker import RecoveredPartition, RecoveryFailed, RecoveryJob
from tests.broker.running import RunningNode
from tests.broker.test_produce_and_fetch import create, fetch, produce

PARTITIONS = 4
IN_PROCESSES = {"barnabas.recovery.process.min.bytes": "1", "num.recovery.threads.per.data.dir": "2"}


def fill(running: RunningNode) -> list[tuple[int, bytes | None]]:
    with running.client() as client:
        create(client, partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            for number in range(20):
                assert produce(client, b"%d" % number, partition=partition).base_offset == number
        return fetch(client, 0)


def killed(tmp_path: Path) -> tuple[RunningNode, list[tuple[int, bytes | None]]]:
    running = RunningNode(tmp_path / "data").start()
    there = fill(running)
    running.kill()
    return running, there


def check(running: RunningNode, there: list[tuple[int, bytes | None]]) -> None:
    with running.client() as client:
        assert fetch(client, 0) == there
        for partition in range(PARTITIONS):
            assert produce(client, b"more", partition=partition).base_offset == 20


def test_after_a_kill_everything_is_there(tmp_path: Path) -> None:
    running, there = killed(tmp_path)
    with running:
        check(running, there)


def test_a_start_complains_of_nothing(tmp_path: Path) -> None:
    """The controller takes the broker in, and gives it its partitions to lead, before their logs are loaded."""
    running, _ = killed(tmp_path)
    for end in (running.stop, running.kill, running.stop):
        running.lines.clear()
        running.start()
        end()
        assert not [str(line) for line in running.lines if "STORAGE_ERROR" in str(line)]


def processes(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The logs that processes have recovered."""
    seen: list[Path] = []
    recover = RecoveryProcess.recover

    async def noted(
        self: RecoveryProcess, job: RecoveryJob, report: Callable[[str], None], advance: Callable[[int], None]
    ) -> RecoveredPartition | RecoveryFailed:
        answer = await recover(self, job, report, advance)
        seen.append(answer.path)
        return answer

    monkeypatch.setattr(RecoveryProcess, "recover", noted)
    return seen


@pytest.mark.slow
def test_much_is_recovered_by_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running, there = killed(tmp_path)
    seen = processes(monkeypatch)
    running.settings |= IN_PROCESSES | {"barnabas.recovery.report.interval.ms": "0"}
    with running:
        check(running, there)
    assert len(seen) == PARTITIONS
    assert not list((tmp_path / "data").glob(".recovery*"))
    told = [line for line in running.lines if "that a crash left unchecked" in line]
    assert "loaded 0 of" in told[0], "before the first log is done"
    assert len(told) > PARTITIONS


def test_little_is_recovered_without_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running, there = killed(tmp_path)
    seen = processes(monkeypatch)
    with running:
        check(running, there)
    assert seen == []


@pytest.mark.slow
def test_a_process_that_dies_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running, there = killed(tmp_path)
    recover = RecoveryProcess.recover

    async def dying(
        self: RecoveryProcess, job: RecoveryJob, report: Callable[[str], None], advance: Callable[[int], None]
    ) -> RecoveredPartition | RecoveryFailed:
        os.kill(self.process.pid, signal.SIGKILL)
        return await recover(self, job, report, advance)

    monkeypatch.setattr(RecoveryProcess, "recover", dying)
    running.settings |= IN_PROCESSES
    with running:
        check(running, there)
    assert any("the process that recovered it died" in line for line in running.lines)


def test_without_a_process_the_node_recovers_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running, there = killed(tmp_path)
    monkeypatch.setattr("sys.executable", str(tmp_path / "no-such-python"))
    running.settings |= IN_PROCESSES
    with running:
        check(running, there)
    assert any("cannot be started" in line for line in running.lines)


def test_a_clean_stop_leaves_nothing_to_recover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = RunningNode(tmp_path / "data").start()
    there = fill(running)
    running.stop()
    monkeypatch.setattr(loading, "RecoveryProcess", None)
    running.settings |= IN_PROCESSES
    with running:
        check(running, there)


def test_the_loop_is_not_held_up_by_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running, _ = killed(tmp_path)
    threads = []
    load_some = loading._Loading._load_some

    def noted(self: loading._Loading, *arguments: object) -> None:
        try:
            trio.lowlevel.current_task()
            threads.append("loop")
        except RuntimeError:
            threads.append("thread")
        load_some(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(loading._Loading, "_load_some", noted)
    running.start().stop()
    assert threads
    assert set(threads) == {"thread"}
