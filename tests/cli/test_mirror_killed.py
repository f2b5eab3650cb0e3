"""`barnabas mirror` when something dies: itself at any moment, the brokers of either side; and when it runs twice."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.mirror.lane import Lane
from barnabas.cli.mirror.map_topic import read_map
from barnabas.cli.mirror.target import Target, produce
from barnabas.client.cluster import Partition
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import set_producer
from barnabas.protocol.record import Record
from tests.cli.mirrors import Between, MirrorProcess, ends_of, now_ms
from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import wait_until

pytestmark = pytest.mark.slow

FAST = ("--refresh-seconds", "0.5", "--groups-seconds", "0.2", "--heartbeat-seconds", "0.5", "--report-seconds", "5")
SMALL = ("--fetch-bytes", "2000", "--batch-bytes", "1")


@pytest.fixture
def between(tmp_path: Path) -> Iterator[Between]:
    with BrokerProcess(tmp_path / "source") as source, BrokerProcess(tmp_path / "target") as target:
        yield ends_of(source, target)


class Killed(Exception):  # noqa: N818 - what a test does
    """Nobody catches it."""


def ten_pieces(between: Between, name: str) -> None:
    between.source.create(name, 2)
    for number in range(10):
        between.source.values(name, *[b"%d" % (3 * number + each) for each in range(3)], partition=number % 2)


@pytest.mark.parametrize("which", [0, 1, 4, 9])
@pytest.mark.parametrize("others", [False, True])
def test_what_was_under_way_is_looked_up(
    between: Between, name: str, which: int, others: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target has taken a piece, and whoever sent it dies before the answer."""
    ten_pieces(between, name)
    take, taken = Target._take, 0

    def dies(self: Target, lane: Lane, told: Any) -> None:
        nonlocal taken
        if taken == which:
            raise Killed
        taken += 1
        take(self, lane, told)

    with monkeypatch.context() as patch:
        patch.setattr(Target, "_take", dies)
        with pytest.raises(Killed):
            between.attempt(name, "--catch-up", *FAST, *SMALL)
    if others:
        between.target.values(name, b"another's", partition=0)
        between.target.values(name, b"another's", partition=1)
    ran = between.catch_up(name, "--groups", ".*", *FAST, *SMALL)
    assert "records that were under way" in ran.err
    for number in (0, 1):
        there = [record.value for record in between.target.records(name, number) if record.value != b"another's"]
        assert there == [record.value for record in between.source.records(name, number)]
    # The map knows where each is, those too that nobody had told it of.
    with between.target.ask() as cluster:
        found = read_map(cluster, "mirror.offsets")
    for number in (0, 1):
        at = Partition(name, number)
        runs = found.runs(at, found.positions[at].id)
        here, there_by_offset = between.source.records(name, number), between.target.records(name, number)
        values = {record.offset: record.value for record in there_by_offset}
        for record in here:
            offset = runs.translate(record.offset, found.positions[at].target)
            assert offset is not None
            assert values[offset] == record.value


def test_what_was_written_down_and_not_sent(between: Between, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ten_pieces(between, name)

    def dies(self: Target, lanes: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Target, "send", dies)
        with pytest.raises(Killed):
            for _ in range(2):
                between.attempt(name, "--catch-up", *FAST, *SMALL)
    assert between.target.records(name) == []
    between.catch_up(name, *FAST, *SMALL)
    assert between.same(name, (0, 1)) == 30


@pytest.mark.parametrize("count", [3, 5, 15])
def test_a_request_that_comes_late_is_no_second_copy(
    between: Between, name: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a process that was killed, which the target takes only when the next process has looked already. It may
    have been cut in another way than those of the next."""
    between.source.create(name)
    for number in range(5):
        between.source.values(name, *[b"%d" % (3 * number + each) for each in range(3)])
    here = between.source.records(name)
    send = Target.send
    late: list[int] = []

    def after_another(self: Target, lanes: Any) -> None:
        for lane in lanes:
            if lane.pieces and not late:
                data = bytearray(build_batch([Record(None, each.value, (), each.timestamp) for each in here[:count]]))
                producer_id, epoch = lane.producer
                set_producer(data, 0, producer_id, epoch, lane.sequence)
                (told,) = produce(self.cluster, {lane.target: data}, 5000).values()
                late.append(told.error_code)
        send(self, lanes)

    with monkeypatch.context() as patch:
        patch.setattr(Target, "send", after_another)
        between.catch_up(name, *FAST, "--fetch-bytes", "100000", "--batch-bytes", "1")
    assert late == [0]
    assert between.same(name) == 15


class Producing:
    """Writes to the source until it is stopped: numbers, each acknowledged before the next."""

    def __init__(self, write: Callable[[int], None]) -> None:
        self._write = write
        self._stopped = threading.Event()
        self.count = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._write(self.count)
            self.count += 1
            self._stopped.wait(0.002)

    def stop(self) -> int:
        self._stopped.set()
        self._thread.join()
        return self.count


def test_killed_again_and_again(between: Between, name: str, tmp_path: Path, figure: Callable[[str], None]) -> None:
    """Records come all the time, others write to the target, a group reads at the source."""
    between.source.create(name, 2)
    log = tmp_path / "mirror.log"
    draw = random.Random(1)
    at = Partition(name, 1)
    producing = Producing(lambda number: _write(between, name, number))
    flags = [name, "--groups", name, *FAST, *SMALL]
    try:
        for number in range(12):
            before = producing.count
            with MirrorProcess(between, log, *flags) as mirror:
                time.sleep(draw.uniform(0.3, 1.2))
                assert not mirror.ended, mirror.said()
                mirror.end(signal.SIGKILL)
            wait_until(lambda before=before: producing.count > before, "records to come")  # type: ignore[misc]
            if number % 4 == 3:
                between.target.values(name, b"another's", partition=number % 2)
            between.source.commit(name, {at: producing.count // 2})
    finally:
        total = producing.stop()
    between.catch_up(*flags)
    copies = 0
    for partition in (0, 1):
        there = [record for record in between.target.records(name, partition) if record.value != b"another's"]
        here = between.source.records(name, partition)
        assert [(each.value, each.timestamp) for each in there] == [(each.value, each.timestamp) for each in here]
        copies += len(there)
    assert copies == total
    reached = between.target.committed(name)[at]
    committed = between.source.committed(name)[at]
    (next_there,) = [each.value for each in between.target.records(name, 1) if each.offset == reached] or [None]
    (next_here,) = [each.value for each in between.source.records(name, 1) if each.offset == committed] or [None]
    assert next_there == next_here
    figure(f"{total} records through 12 mirrors that were killed")


def _write(between: Between, name: str, number: int) -> None:
    between.source.produce(name, Record(None, b"%d" % number, (), now_ms()), partition=number % 2)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_broker_dies_and_comes_again(between: Between, name: str, side: str, tmp_path: Path) -> None:
    between.source.create(name, 2)
    broker: BrokerProcess = getattr(between, side).broker
    with MirrorProcess(between, tmp_path / "mirror.log", name, *FAST, *SMALL) as mirror:
        wait_until(lambda: "is made at the target" in mirror.said(), mirror.said)
        for number in range(3):
            for each in range(40):
                between.source.values(name, b"%d" % (40 * number + each), partition=each % 2)
            broker.kill()
            broker.start()
        wait_until(
            lambda: sum(between.target.end(name, each) for each in (0, 1)) == 120, lambda: f"all: {mirror.said()}"
        )
        assert mirror.end(signal.SIGINT) == 130
    assert between.same(name, (0, 1)) == 120


def test_a_cluster_that_stays_away(between: Between, name: str, tmp_path: Path) -> None:
    between.source.create(name)
    between.source.values(name, b"0")
    with MirrorProcess(between, tmp_path / "mirror.log", name, *FAST, "--patience", "5") as mirror:
        wait_until(lambda: between.target.end(name) == 1, mirror.said)
        between.source.broker.stop()  # type: ignore[attr-defined]
        wait_until(lambda: mirror.ended, mirror.said)
        assert mirror.end() == 1
        lines = mirror.said().splitlines()
        assert any(line.startswith("The source: ") and "Trying again for 5 s." in line for line in lines)
        assert lines[-1].startswith("barnabas mirror: ")


def test_the_newer_one_takes_over(between: Between, name: str, tmp_path: Path) -> None:
    between.source.create(name, 2)
    producing = Producing(lambda number: _write(between, name, number))
    try:
        with MirrorProcess(between, tmp_path / "first.log", name, *FAST, *SMALL) as first:
            wait_until(lambda: "is made at the target" in first.said(), first.said)
            wait_until(lambda: between.target.end(name) > 3, first.said)
            with MirrorProcess(between, tmp_path / "second.log", name, *FAST, *SMALL) as second:
                wait_until(lambda: first.ended, lambda: first.said() + second.said())
                assert first.end() == 1
                assert first.said().splitlines()[-1] == (
                    "barnabas mirror: Another process has taken over this mirror (mirror.offsets): this one ends."
                )
                before = between.target.end(name)
                wait_until(lambda: between.target.end(name) > before, second.said)
                assert second.end() == 143
    finally:
        total = producing.stop()
    between.catch_up(name, *FAST, *SMALL)
    assert between.same(name, (0, 1)) == total
