"""A process that compacts makes what `compact` makes, does as it is told, and says what is wrong."""

from __future__ import annotations

import os
import random
import resource
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.protocol.compression import Compression
from barnabas.storage.compaction import compact
from barnabas.storage.compaction_messages import (
    Cancel,
    Cancelled,
    Cleaned,
    Continue,
    Done,
    Failed,
    Failure,
    Message,
    Progress,
    Rate,
    Ready,
    Start,
)
from barnabas.storage.compaction_swap import discard, swap_in
from barnabas.storage.disk import DirectoryLock, SystemDisk
from barnabas.storage.log import Log

from .compacted import append, check, job_for, left, new_log
from .compaction_owner import WorkerProcess

LARGEST_OVERHEAD_BYTES = 24 << 20
"""Of a worker at work over an idle one, but for its map (docs/decisions/0006-compaction.md promises it)."""


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    with WorkerProcess() as process:
        process.expect(Ready)
        yield process


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Three results, of 40 keys each."""
    log = new_log(SystemDisk(), tmp_path, internal_segment_bytes="20000")
    for number in range(400):
        append(log, (b"k%d" % (number * 7 % 120), b"%d" % number * 40))
    return log


def files(directory: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns // 1_000_000)
        for path in directory.iterdir()
        if path.name.endswith(".cleaned")
    }


def ending(worker: WorkerProcess) -> Message:
    while isinstance(message := worker.next(), Progress):
        pass
    assert message is not None
    return message


def test_it_makes_the_very_same_files(worker: WorkerProcess, log: Log) -> None:
    job = job_for(log)
    expected = []
    for cleaned in compact(job, SystemDisk()):
        expected.append((cleaned, files(log.directory)))
        discard(log.disk, job, cleaned)
    before = left(log)
    found = []
    for result in worker.results(job):
        found.append((result.segment, files(log.directory)))
        swap_in(log, job, result.segment)
    assert found == expected
    assert len(found) > 1
    check(log)
    assert len(left(log)) == 120 < len(before)


def test_one_job_after_another_over_one_process(worker: WorkerProcess, log: Log) -> None:
    clean = 0
    for _ in range(3):
        job = job_for(log, clean=clean)
        for result in worker.results(job):
            swap_in(log, job, result.segment)
            clean = result.segment.clean_offset
        assert clean == log.end_offset
        append(log, (b"k1", b"again"))
    check(log)
    assert worker.end() == 0


def test_it_waits_to_hear_that_a_result_was_swapped_in(worker: WorkerProcess, log: Log) -> None:
    job = job_for(log)
    worker.send(Start(job, None))
    assert isinstance(ending(worker), Cleaned)
    assert worker.next(0.05) is None
    worker.send(Continue())
    assert isinstance(ending(worker), Cleaned)


def test_a_job_that_is_cancelled_between_two_results(worker: WorkerProcess, log: Log) -> None:
    job = job_for(log)
    worker.send(Start(job, None))
    result = ending(worker)
    assert isinstance(result, Cleaned)
    worker.send(Cancel())
    assert ending(worker) == Cancelled()
    discard(log.disk, job, result.segment)
    check(log)
    assert len(list(worker.results(job_for(log)))) > 1, "it is there for the next one"


def test_a_job_that_is_cancelled_while_it_waits_for_the_throttle(worker: WorkerProcess, log: Log) -> None:
    """A cancel is heard at once, however long the wait."""
    worker.send(Start(job_for(log), 1.0))
    worker.send(Cancel())
    assert ending(worker) == Cancelled()
    check(log)


def test_a_cancel_that_comes_too_late_is_for_nobody(worker: WorkerProcess, log: Log) -> None:
    for _ in worker.results(job_for(log)):
        pass
    worker.send(Cancel())
    worker.send(Rate(5.0))
    assert len(list(worker.results(job_for(log)))) > 1


def test_another_rate_ends_a_wait(worker: WorkerProcess, log: Log) -> None:
    worker.send(Start(job_for(log), 1.0))
    worker.send(Rate(None))
    assert isinstance(ending(worker), Cleaned)


def test_damage_is_told_with_its_place(worker: WorkerProcess, log: Log) -> None:
    job = job_for(log)
    segment = log.segments[1]
    place = list(segment.places())[5]
    segment.file.write(place.end - 3, [b"!"])
    worker.send(Start(job, None))
    failed = ending(worker)
    assert isinstance(failed, Failed)
    assert failed.kind is Failure.DAMAGED
    assert failed.reason.startswith(f"{segment.path('.log')} holds no batch at byte {place.position}: ")
    check(log)


def test_a_log_that_went_away(worker: WorkerProcess, log: Log) -> None:
    job = job_for(log)
    log.directory.rename(log.directory.with_name("orders-0.x-delete"))
    worker.send(Start(job, None))
    failed = ending(worker)
    assert failed == Failed(
        Failure.DISK, f"compacting {log.directory} failed: {log.directory}: No such file or directory"
    )
    assert not log.directory.exists()


def test_a_disk_that_is_full(tmp_path: Path, log: Log) -> None:
    """A limit on the size of a file is as good as a full disk."""
    job = job_for(log)
    with WorkerProcess() as worker:
        worker.expect(Ready)
        resource.prlimit(worker.process.pid, resource.RLIMIT_FSIZE, (1_000, 1_000))
        worker.send(Start(job, None))
        failed = ending(worker)
    assert isinstance(failed, Failed)
    assert failed.kind is Failure.DISK
    check(log)


def test_a_bug_is_told_and_the_next_job_is_done(log: Log) -> None:
    job = job_for(log)
    with tempfile.TemporaryFile() as errors, WorkerProcess(stderr=errors) as worker:
        worker.expect(Ready)
        worker.send(Start(job_for(log, map_bytes=1), None))
        failed = ending(worker)
        assert isinstance(failed, Failed)
        assert failed.kind is Failure.INTERNAL
        assert failed.reason.startswith(f"compacting {log.directory} failed, which is a bug: ValueError: ")
        assert len(list(worker.results(job))) > 1
        errors.seek(0)
        assert b"Traceback" in errors.read()


def test_two_workers_do_not_write_the_same_files(worker: WorkerProcess, log: Log) -> None:
    job = job_for(log)
    lock = DirectoryLock(log.directory)
    worker.send(Start(job, None))
    failed = ending(worker)
    assert isinstance(failed, Failed)
    assert failed.reason == f"{log.directory} is still written to by a worker without an owner"
    lock.release()
    assert len(list(worker.results(job))) > 1


def test_its_input_ends_between_jobs_and_within_one(log: Log) -> None:
    with WorkerProcess() as worker:
        worker.expect(Ready)
        assert worker.end() == 0
    for rate in (None, 1.0):
        with WorkerProcess() as worker:
            worker.expect(Ready)
            worker.send(Start(job_for(log), rate))
            assert worker.end() == 0
        assert set(left(log)) == set(range(400))
    for result in compact(job_for(log), SystemDisk()):
        discard(log.disk, job_for(log), result)
    check(log)


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL])
def test_signals_end_it_and_leave_nothing_that_counts(log: Log, kind: signal.Signals) -> None:
    before = left(log)
    with WorkerProcess() as worker:
        worker.expect(Ready)
        worker.send(Start(job_for(log), None))
        assert isinstance(ending(worker), Cleaned)
        worker.process.send_signal(kind)
        assert worker.end() == -kind
    assert files(log.directory)
    assert left(log) == before


def test_an_interrupt_at_the_terminal_is_for_its_owner(worker: WorkerProcess, log: Log) -> None:
    worker.process.send_signal(signal.SIGINT)
    assert len(list(worker.results(job_for(log)))) > 1


def test_it_gives_way_to_others(log: Log) -> None:
    with WorkerProcess("--nice", "7") as worker:
        worker.expect(Ready)
        ours = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, worker.process.pid) == min(ours + 7, 19)


@pytest.mark.slow
def test_progress_is_told_and_ends_with_all_that_was_moved(tmp_path: Path, worker: WorkerProcess) -> None:
    log = new_log(SystemDisk(), tmp_path, internal_segment_bytes="100000000")
    for number in range(400):
        append(log, (b"k%d" % number, bytes(100_000)))
    job = job_for(log)
    worker.send(Start(job, None))
    told = []
    while not isinstance(message := worker.next(), Done):
        assert message is not None
        if isinstance(message, Cleaned):
            swap_in(log, job, message.segment)
            worker.send(Continue())
        else:
            assert isinstance(message, Progress)
            told.append(message.moved_bytes)
    assert len(told) >= 5
    assert told == sorted(told)
    # What is read of a batch that does not end there is read again.
    assert 3 * log.size <= message.moved_bytes < 3.3 * log.size
    assert job.bytes_to_read == 2 * log.size


@pytest.mark.slow
@pytest.mark.parametrize("compression", [Compression.NONE, Compression.ZSTD])
@pytest.mark.parametrize("records_a_batch", [16, 900])
def test_its_memory_is_its_map_and_a_constant(
    tmp_path: Path, worker: WorkerProcess, records_a_batch: int, compression: Compression
) -> None:
    """However large the log is; batches are of the largest size that topics take by default."""
    log = new_log(SystemDisk(), tmp_path, internal_segment_bytes="30000000")
    chance = random.Random(1)
    for number in range(0, 60_000, records_a_batch):
        keys = [b"k%d" % chance.randrange(50_000) for _ in range(records_a_batch)]
        append(log, *[(key, b"%d" % number * 200) for key in keys], compression=compression)
    job = job_for(log, map_bytes=2 << 20)
    idle_bytes = peak_bytes(worker)
    for result in worker.results(job):
        swap_in(log, job, result.segment)
    grown = peak_bytes(worker) - idle_bytes
    assert grown < (2 << 20) + LARGEST_OVERHEAD_BYTES


@pytest.mark.slow
def test_its_map_takes_what_it_was_given(tmp_path: Path, worker: WorkerProcess) -> None:
    log = new_log(SystemDisk(), tmp_path, internal_segment_bytes="100000000")
    for number in range(0, 300_000, 5_000):
        append(log, *[(b"%d" % (number + each), b"") for each in range(5_000)])
    job = job_for(log, map_bytes=6 << 20)
    idle_bytes = peak_bytes(worker)
    for result in worker.results(job):
        swap_in(log, job, result.segment)
    grown = peak_bytes(worker) - idle_bytes
    assert 6 << 20 <= grown < (6 << 20) + LARGEST_OVERHEAD_BYTES


def peak_bytes(worker: WorkerProcess) -> int:
    status = Path(f"/proc/{worker.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))
