"""What the log costs over what it cannot do without: `make bench-storage`.

Every row sets a figure of the log beside a bare figure from the same run, in alternating rounds; only the ratios mean
anything on a shared machine. Data lies in a temporary directory of the system's disk. With --smoke everything is done
once and with little, to see that it works.
"""

from __future__ import annotations

import mmap
import os
import platform
import select
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from crc32c import crc32c

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import HEADER, NO_PRODUCER_ID, Batch
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Uuid
from barnabas.storage.compaction import compact
from barnabas.storage.compaction_job import CompactionJob, compaction_job
from barnabas.storage.compaction_messages import (
    Cleaned,
    Continue,
    Done,
    Message,
    MessageReader,
    Progress,
    Ready,
    Start,
    encode_message,
)
from barnabas.storage.compaction_plan import gather_facts, plan_compaction
from barnabas.storage.compaction_swap import swap_in, swap_steps
from barnabas.storage.disk import SystemDisk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory, TopicPartition
from barnabas.storage.offset_map import BYTES_PER_SLOT
from barnabas.storage.topic_config import TopicConfig
from bench.sound import sound

NOW = 1_700_000_000_000
CONFIG = TopicConfig.load({})
MEBIBYTE = 1 << 20


class Scale(NamedTuple):
    """How much is done of everything."""

    rounds: int
    appends: int
    """Of a round."""
    reads: int
    partitions: int
    recovered_bytes: int
    compacted_batches: int
    beside_batches: int
    beside_rounds: int


FULL = Scale(7, 1_500, 2_000, 1_000, 256 * MEBIBYTE, 8_000, 24_000, 5)
SMOKE = Scale(1, 50, 50, 20, MEBIBYTE, 200, 400, 1)


def batch_of(bytes_: int, producer_id: int = NO_PRODUCER_ID, number: int = 0) -> bytes:
    record = Record(value=bytes(bytes_ - 80), timestamp=NOW)
    if producer_id < 0:
        return build_batch([record])
    return build_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=number)


def fresh_log(directory: Path) -> Log:
    return open_log(SystemDisk(), directory, CONFIG, now_ms=NOW, clean=True)


def alternating(one: Callable[[], float], other: Callable[[], float], rounds: int) -> tuple[float, float]:
    """The best of each, in rounds that take turns."""
    both = [(one(), other()) for _ in range(rounds)]
    return min(first for first, _ in both), min(second for _, second in both)


def bench_append(root: Path, scale: Scale) -> None:
    """Appending checked batches, beside a loop that reads the header, takes the checksum and writes."""
    for size in (1_024, 16 * 1_024):
        data = batch_of(size)
        log = fresh_log(root / f"append-{size}")
        descriptor = os.open(root / f"bare-{size}", os.O_RDWR | os.O_CREAT)

        def ours(data: bytes = data, log: Log = log) -> float:
            began = time.perf_counter()
            for _ in range(scale.appends):
                batch = Batch(data)
                batch.check()
                log.append_as_leader([batch], 0, NOW)
            return (time.perf_counter() - began) / scale.appends

        def bare(data: bytes = data, descriptor: int = descriptor) -> float:
            position = os.fstat(descriptor).st_size
            view = memoryview(data)
            began = time.perf_counter()
            for _ in range(scale.appends):
                header = HEADER.unpack_from(data)
                if crc32c(view[21:]) != header[4]:
                    raise ValueError("crc")
                os.pwrite(descriptor, data, position)
                position += len(data)
            return (time.perf_counter() - began) / scale.appends

        our_s, bare_s = alternating(ours, bare, scale.rounds)
        os.close(descriptor)
        row(f"append, batches of {size // 1024} KiB", our_s * 1e6, bare_s * 1e6, "µs", bare_s / our_s)


def bench_group_commit(root: Path, scale: Scale) -> None:
    """durability=fsync where 64 appends wait for one sync, beside writing and syncing each."""
    data = batch_of(1_024)
    log = fresh_log(root / "group")
    descriptor = os.open(root / "bare-group", os.O_RDWR | os.O_CREAT)

    def ours() -> float:
        began = time.perf_counter()
        for _ in range(4):
            for _ in range(64):
                log.append_as_leader([Batch(data)], 0, NOW)
            work = log.unsynced_records()
            work.sync()
            log.records_synced(work)
        return (time.perf_counter() - began) / 256

    def bare() -> float:
        began = time.perf_counter()
        for _ in range(64):
            os.pwrite(descriptor, data, os.fstat(descriptor).st_size)
            os.fdatasync(descriptor)
        return (time.perf_counter() - began) / 64

    our_s, bare_s = alternating(ours, bare, min(scale.rounds, 5))
    os.close(descriptor)
    row("durable append of 1 KiB: 64 share a sync; each its own", our_s * 1e6, bare_s * 1e6, "µs", bare_s / our_s)


def bench_read(root: Path, scale: Scale) -> None:
    """Finding 1 MiB at the first and at the last offset of a small and of a large log; no byte of it is read."""
    for name, segments in (("100 MiB", 1), ("20 GiB, sparse", 20)):
        log = sparse_log(root / f"read-{segments}", segments)

        def reading(offset: int, log: Log = log) -> float:
            began = time.perf_counter()
            for _ in range(scale.reads):
                if not len(log.read(offset, MEBIBYTE)):
                    raise ValueError("nothing read")
            return (time.perf_counter() - began) / scale.reads

        first_s, last_s = alternating(partial(reading, 0), partial(reading, log.end_offset - 64), scale.rounds)
        row(f"read 1 MiB of {name}: first and last offset", first_s * 1e6, last_s * 1e6, "µs", last_s / first_s)


def sparse_log(directory: Path, segments: int) -> Log:
    """Segments with 64 batches at each end, as the index tells, and a hole between."""
    log = fresh_log(directory)
    bytes_ = 100 * MEBIBYTE if segments == 1 else 1024 * MEBIBYTE - 4 * MEBIBYTE
    data = batch_of(16 * 1_024)
    for number in range(segments):
        if number:
            log.roll(NOW)
        for _ in range(64):
            log.append_as_leader([Batch(data)], 0, NOW)
        segment = log.active
        segment.size = bytes_
        segment.file.truncate(bytes_)
        segment._bytes_since_row = CONFIG.index_interval_bytes + 1
        for _ in range(64):
            log.append_as_leader([Batch(data)], 0, NOW)
    return log


def bench_reopen(root: Path, scale: Scale) -> None:
    """Opening a directory of many partitions that was closed cleanly, beside listing and reading its files."""
    path = root / "reopen"
    disk = SystemDisk()
    directory = LogDirectory(disk, path, holder="bench", report=print)
    data = batch_of(1_024)
    for number in range(scale.partitions):
        log = directory.create(TopicPartition("orders", number), Uuid(range(16)), CONFIG, NOW)
        for _ in range(3):
            log.append_as_leader([Batch(data)], 0, NOW)
    directory.close({})

    def ours() -> float:
        began = time.perf_counter()
        opened = LogDirectory(disk, path, holder="bench", report=print)
        for partition in list(opened.waiting):
            opened.load(partition, CONFIG, NOW)
        took = time.perf_counter() - began
        opened.close({})
        return took

    def bare() -> float:
        began = time.perf_counter()
        for partition in path.iterdir():
            if partition.is_dir():
                for file in partition.iterdir():
                    file.read_bytes()
        return time.perf_counter() - began

    our_s, bare_s = alternating(ours, bare, min(scale.rounds, 3))
    row(f"reopen {scale.partitions:,} partitions after a clean stop", our_s * 1e3, bare_s * 1e3, "ms", bare_s / our_s)


def bench_recovery(root: Path, scale: Scale) -> None:
    """Recovering a log after a crash, beside mapping the same file and taking one checksum of it all."""
    for name, bytes_, producer_id in (
        ("16 KiB", 16 * 1_024, -1),
        ("16 KiB of an idempotent producer", 16 * 1_024, 7),
        ("2 KiB", 2 * 1_024, -1),
    ):
        log = fresh_log(root / f"recovery-{bytes_}{producer_id}")
        for number in range(scale.recovered_bytes // bytes_):
            log.append_as_leader([Batch(batch_of(bytes_, producer_id, number))], 0, NOW)
        size, path = log.size, log.active.path(".log")

        def ours(log: Log = log) -> float:
            began = time.perf_counter()
            again = open_log(SystemDisk(), log.directory, CONFIG, now_ms=NOW, clean=False)
            took = time.perf_counter() - began
            if again.end_offset != log.end_offset:
                raise ValueError("not recovered")
            return took

        def bare(path: Path = path, size: int = size) -> float:
            began = time.perf_counter()
            with path.open("rb") as file:
                crc32c(mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ))
            return time.perf_counter() - began

        our_s, bare_s = alternating(ours, bare, scale.rounds)
        row(
            f"recover {size / MEBIBYTE:.0f} MiB in batches of {name}",
            size / our_s / MEBIBYTE,
            size / bare_s / MEBIBYTE,
            "MiB/s",
            bare_s / our_s,
        )


def bench_compaction(root: Path, scale: Scale) -> None:
    """Compacting 1 KB records of which a tenth stays, beside reading the same bytes and taking their checksum."""

    def ours() -> float:
        directory = root / f"compaction-{time.monotonic_ns()}"
        log = log_to_compact(directory, scale.compacted_batches)
        size = log.size
        job = job_of(log)
        began = time.perf_counter()
        for cleaned in compact(job, SystemDisk()):
            swap_in(log, job, cleaned)
        took = time.perf_counter() - began
        shutil.rmtree(directory)
        return took / size

    content = batch_of(64 * MEBIBYTE)

    def bare() -> float:
        began = time.perf_counter()
        crc32c(content)
        return (time.perf_counter() - began) / len(content)

    our_s, bare_s = alternating(ours, bare, min(scale.rounds, 2))
    row("compact 1 KB records, 16 a batch", 1e-6 / our_s, 1e-6 / bare_s, "MB/s", bare_s / our_s)


def log_to_compact(directory: Path, batches: int) -> Log:
    """1 KB records, 16 a batch, of 12,800 keys; in segments of 64 MiB."""
    config = TopicConfig.load({"cleanup.policy": "compact", "internal.segment.bytes": str(64 * MEBIBYTE)})
    log = open_log(SystemDisk(), directory, config, now_ms=NOW, clean=True)
    for number in range(batches):
        keys = [(number * 16 + index) % 12_800 for index in range(16)]
        records = [Record(b"key-%d" % key, bytes(1_000), timestamp=NOW) for key in keys]
        log.append_as_leader([Batch(build_batch(records))], 0, NOW)
    log.roll(NOW)
    return log


def job_of(log: Log) -> CompactionJob:
    return compaction_job(log, plan_compaction(gather_facts(log, log.end_offset, None), NOW + 1), NOW + 1)


class Worker:
    """A process that compacts one log, and what its owner does for it: never waiting, and syncing in a thread."""

    def __init__(self, log: Log) -> None:
        command = [sys.executable, "-m", "barnabas.storage.compaction_worker", "--nice", "10"]
        self.log = log
        self.job = job_of(log)
        self.size = log.size
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.reader = MessageReader()
        self.threads = ThreadPoolExecutor(1)
        self.steps: Iterator[Callable[[], None]] = iter(())
        self.step: Future[None] | None = None
        self.took = 0.0
        self.idle_bytes = self.peak_bytes = 0

    def go_on(self) -> bool:
        """Whatever can be done now; False when all is done."""
        if self.step is not None and self.step.done():
            self.step.result()
            self._next_step()
        if select.select([self.stdout], [], [], 0)[0]:
            for message in self.reader.feed(self.stdout.read(1 << 16)):
                self._heed(message)
        return not self.took

    def _heed(self, message: Message) -> None:
        if isinstance(message, Ready):
            self.idle_bytes = self._peak()
            self.stdin.write(encode_message(Start(self.job, None)))
        elif isinstance(message, Cleaned):
            self.steps = swap_steps(self.log, self.job, message.segment)
            self._next_step()
        elif isinstance(message, Done):
            self.took = time.perf_counter() - self.began
            self.peak_bytes = self._peak()
            self.stdin.close()
            self.process.wait()
            self.threads.shutdown()
        elif not isinstance(message, Progress):
            raise TypeError(message)

    def _next_step(self) -> None:
        sync = next(self.steps, None)
        self.step = self.threads.submit(sync) if sync else None
        if sync is None:
            self.stdin.write(encode_message(Continue()))
            for segment in self.log.removed:
                self.threads.submit(segment.remove)
            self.log.removed.clear()

    def _peak(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def bench_beside(root: Path, scale: Scale) -> None:
    """Appending 16 KiB two thousand times a second, as an event loop would that also looks after a worker process that
    compacts a log beside it, and the same without. What is measured is all that the loop does in one turn; of the
    rounds, which take turns, the best counts, since others may be at work on the machine."""
    data = batch_of(16 * 1_024)
    beside: list[list[float]] = []
    alone: list[list[float]] = []
    workers = []

    def appending(goes_on: Callable[[], bool]) -> list[float]:
        latencies = []
        log = fresh_log(root / f"beside-{time.monotonic_ns()}")
        began = time.perf_counter()
        number = 0
        while True:
            number += 1
            time.sleep(max(began + number / 2_000 - time.perf_counter(), 0))
            at = time.perf_counter()
            if not goes_on():
                break
            batch = Batch(data)
            batch.check()
            log.append_as_leader([batch], 0, NOW)
            latencies.append(time.perf_counter() - at)
        shutil.rmtree(log.directory)
        return sorted(latencies)

    for _ in range(scale.beside_rounds):
        log = log_to_compact(root / f"compacted-{time.monotonic_ns()}", scale.beside_batches)
        log.unsynced().sync()
        worker = Worker(log)
        workers.append(worker)
        beside.append(appending(worker.go_on))
        until = time.perf_counter() + worker.took
        alone.append(appending(lambda until=until: time.perf_counter() < until))  # type: ignore[misc]
        shutil.rmtree(log.directory)
    for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)):
        one, other = (min(each[int(len(each) * share)] for each in rounds) for rounds in (beside, alone))
        row(f"append 16 KiB beside a compaction; alone: {name}", one * 1e6, other * 1e6, "µs", other / one)
    rate = max(worker.size / worker.took for worker in workers)
    row(
        f"a worker process for {workers[0].size / 1e6:,.0f} MB, beside that; wanted",
        rate / 1e6,
        30,
        "MB/s",
        30e6 / rate,
    )
    grown = max(1, *(worker.peak_bytes - worker.idle_bytes for worker in workers))
    slots = min(workers[0].job.map_bytes, int(workers[0].job.end_offset / 0.9 + 100) * BYTES_PER_SLOT)
    row("its memory above an idle one; its map", grown / MEBIBYTE, slots / MEBIBYTE, "MiB", slots / grown)


def row(name: str, ours: float, bare: float, unit: str, ratio: float) -> None:
    sound(name, ours, bare)
    print(f"| {name} | {ours:,.1f} | {bare:,.1f} | {unit} | {ratio:.2f} |", flush=True)


BENCHES = [
    bench_append,
    bench_group_commit,
    bench_read,
    bench_reopen,
    bench_recovery,
    bench_compaction,
    bench_beside,
]


def main() -> None:
    """All of them, or those whose names are given."""
    benches = {bench.__name__.removeprefix("bench_"): bench for bench in BENCHES}
    parser = ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(benches)}")
    given = parser.parse_args()
    if not set(given.names) <= benches.keys():
        parser.error(f"there is no {', '.join(given.names)}: name some of {', '.join(benches)}")
    root = Path(tempfile.mkdtemp(prefix="barnabas-bench-"))
    print(f"CPython {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores\n")
    print("| what | ours | bare | unit | bare / ours |\n|---|---|---|---|---|")
    try:
        for name in given.names or benches:
            benches[name](root, SMOKE if given.smoke else FULL)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
