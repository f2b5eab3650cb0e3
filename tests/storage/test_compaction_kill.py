"""kill -9 of a worker at any instant, and of the owner of the log between any two lines, leaves the log whole; the next
round completes what was begun."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.storage.compaction_checkpoint import CleanerCheckpoint
from barnabas.storage.compaction_job import CompactionJob
from barnabas.storage.compaction_messages import Cleaned, Continue, Done, Message, Ready, Start
from barnabas.storage.compaction_swap import discard, swap_in
from barnabas.storage.log import Log

from .compacted import NOW, Entry, check, job_for, left, planned, reopened
from .compaction_owner import REPOSITORY, WorkerProcess, append_some, note_of, open_owned
from .under_way import UnderWay, read_under_way, told

THOROUGH = os.environ.get("BARNABAS_THOROUGH") == "1"
KILLS = 400 if THOROUGH else 16
OWNER_KILLS = 400 if THOROUGH else 40
SEEDS = range(int(os.environ.get("BARNABAS_SEED", "0")), int(os.environ.get("BARNABAS_SEED", "0")) + 2)
LONGEST_SWAP_S = 0.004


def latest_of(entries: dict[int, Entry]) -> dict[bytes | None, int]:
    return {key: int((value or b"").split()[0]) for _, (key, value) in sorted(entries.items())}


def is_writing(log: Log) -> bool:
    return any(name.endswith(".cleaned") for name in log.disk.names(log.directory))


def next_before_it_writes(worker: WorkerProcess, log: Log) -> Message | None:
    """None as soon as it has begun to write a segment."""
    while (message := worker.next(0)) is None:
        if is_writing(log):
            return None
    return message


def compact_until(
    log: Log, job: CompactionJob, instant_s: float | None, chance: random.Random, *, at_work: bool = False
) -> int | None:
    """Kill the worker when it has said nothing for so long, or while its result is being swapped in; None says never.
    Or `at_work`, in the middle of a segment. Up to where the log is clean then, or None if it is not."""
    clean_offset = None
    patience_s = 60 if instant_s is None else instant_s
    with WorkerProcess() as worker:
        worker.expect(Ready)
        worker.send(Start(job, None))
        try:
            while not isinstance(
                message := next_before_it_writes(worker, log) if at_work else worker.next(patience_s), Done
            ):
                if message is None:
                    return None
                if isinstance(message, Cleaned):
                    clean_offset = message.segment.clean_offset
                    if instant_s is not None and chance.random() < 0.2:
                        worker.process.kill()
                    swap_in(log, job, message.segment)
                    worker.send(Continue())
        except (EOFError, BrokenPipeError):
            return None
    return clean_offset


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_killed_workers_cost_nothing_but_time(tmp_path: Path, seed: int, figure: Callable[[str], None]) -> None:
    chance = random.Random(seed)
    log = open_owned(tmp_path)
    clean, killed, writing, finished, number, rounds = 0, 0, 0, 0, 0, 0
    longest_s = 0.1
    while killed < KILLS:
        list(append_some(log, chance, number, 400))
        number += 400
        everything = latest_of(left(log))
        job = job_for(log, clean=clean)
        rounds += 1
        # However slow the machine is, every fifth one has its time.
        instant_s = chance.random() * longest_s if rounds % 5 else None
        found = compact_until(log, job, instant_s, chance, at_work=killed % 4 == 3)
        if found is None:
            killed += 1
            writing += is_writing(log)
        else:
            finished += 1
            clean = found
            # As many are to be killed at work as are to finish.
            longest_s = max(longest_s * 0.8, 0.005)
        assert latest_of(left(log)) == everything
        if chance.random() < 0.3:
            log = reopened(log)
            check(log)
            assert latest_of(left(log)) == everything
        for segment in log.removed:
            segment.remove()
        log.removed.clear()
    figure(f"{killed} killed, {writing} of them in the middle of a segment; {finished} finished")
    assert finished
    assert writing
    compact_until(log, job_for(log, clean=clean), None, chance)
    check(log)
    assert latest_of(left(log)) == everything
    assert len(left(log)) == len(everything)


@pytest.mark.slow
def test_remains_of_a_killed_worker_do_not_undo_the_next_result(tmp_path: Path) -> None:
    """A `.cleaned` that lies before a `.swap` says that the latter is not whole. One that a killed worker left, of a
    segment that has been deleted since, would say so wrongly: of a result whose sources are gone already."""
    log = open_owned(tmp_path)
    list(append_some(log, random.Random(1), 0, 800))
    job = job_for(log)
    with WorkerProcess() as worker:
        worker.send(Start(job, None))
        worker.expect(Ready)
        worker.expect(Cleaned)
        worker.process.kill()
    log.delete_segments(log.segments[:1])
    log.advance_start(log.segments[0].base_offset)
    everything = left(log)
    (result, *others) = _first_results(log)
    assert not others
    names = [name for name in log.disk.names(log.directory) if name.endswith(".cleaned")]
    assert {int(name[:20]) for name in names} == {result.segment.base_offset}
    discard(log.disk, job, result.segment)
    check(log)
    assert left(log) == everything


def _first_results(log: Log) -> list[Cleaned]:
    job = job_for(log, roll=False)
    with WorkerProcess() as worker:
        return [next(worker.results(job))]


class Owner:
    """What the lines of the program say, and what its directory holds after it was killed."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.records: dict[int, tuple[int, int]] = {}
        """Key and number of each that may be there."""
        self.certain_from = 0
        """Records from here on are all there; before, the last of each key."""
        self.next = 0
        self.met: list[UnderWay] = []

    def kill_one(self) -> None:
        command = [sys.executable, "-m", "tests.storage.compaction_owner", str(self.root)]
        command += [str(self.random.randrange(2**30)), str(self.next)]
        # The worker has the same standard error: it ends when both have.
        with subprocess.Popen(
            command,
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as program:
            assert program.stdin is not None
            assert program.stdout is not None
            assert program.stderr is not None
            lines = []
            wanted = self.random.choice(["worker", "opened", "appended", *["cleaned"] * 7, "swapped", "compacted"])
            wanted_times = self.random.randrange(1, 6 if wanted == "cleaned" else 2)
            for line in program.stdout:
                lines.append(line)
                wanted_times -= line.startswith(wanted)
                # Of those that are killed when they have a result, some are already swapping it in.
                if line.startswith("cleaned") and (wanted_times or self.random.random() < 0.8):
                    program.stdin.write("\n")
                    program.stdin.flush()
                if not wanted_times:
                    break
            threading.Event().wait(self.random.random() * LONGEST_SWAP_S * self.random.choice([0, 0.1, 1]))
            program.send_signal(signal.SIGKILL)
            lines += program.stdout.readlines()
            complaints = program.stderr.read()
        assert program.returncode == -signal.SIGKILL, complaints
        assert complaints == "", "a worker without an owner ends quietly"
        for line in lines:
            if line.endswith("\n"):
                self.take(line.split())
        self.met.append(read_under_way(note_of(self.root)))
        self.next += 100_000

    def take(self, words: list[str]) -> None:
        if words[0] == "appended":
            offset, key, number = map(int, words[1:])
            self.records[offset] = (key, number)
        elif words[0] == "compacting":
            self.certain_from = int(words[2])

    def compare(self) -> Log:
        log = open_owned(self.root)
        check(log)
        found = {
            offset: (int((key or b"k")[1:]), int((value or b"").split()[0]))
            for offset, (key, value) in left(log).items()
        }
        acknowledged = max(self.records, default=-1)
        newer = {offset: one for offset, one in found.items() if offset > acknowledged}
        assert len(newer) <= 1, "one append may not have been told any more"
        for offset, one in found.items():
            assert one == self.records.get(offset, newer.get(offset))
        last = {key: (offset, number) for offset, (key, number) in sorted((self.records | newer).items())}
        for key, (offset, number) in last.items():
            assert found[offset] == (key, number), "the last record of a key is gone"
        missing = [offset for offset in self.records if offset >= self.certain_from and offset not in found]
        assert not missing, "records that nobody compacted are gone"
        self.records = found
        return log

    def complete(self) -> None:
        log = open_owned(self.root)
        checkpoint = CleanerCheckpoint(log.disk, self.root)
        log.roll(NOW)
        clean = checkpoint.offset("orders", 0)
        if planned(log, clean=clean).dirty_bytes:
            job = job_for(log, clean=clean, roll=False)
            with WorkerProcess() as worker:
                for result in worker.results(job):
                    swap_in(log, job, result.segment)
                    checkpoint.set("orders", 0, result.segment.clean_offset)
        check(log)
        assert len(left(log)) == len({key for key, _ in self.records.values()})
        self.certain_from = log.end_offset


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_killed_owners_lose_nothing(tmp_path: Path, seed: int, figure: Callable[[str], None]) -> None:
    owner = Owner(tmp_path, seed)
    for kill in range(OWNER_KILLS):
        try:
            owner.kill_one()
            owner.compare()
            if owner.records and owner.random.random() < 0.2:
                owner.complete()
                owner.compare()
        except BaseException as error:
            error.add_note(f"seed {seed}, kill {kill} in {owner.met[-1:]}, in {tmp_path}")
            raise
    for line in told(owner.met):
        figure(line)
    assert sum(each.step == "swap in" for each in owner.met) >= OWNER_KILLS // 10
