"""What the log costs over what it cannot do without: `make bench-storage`.

Every row sets a figure of the log beside a bare figure from the same run, in alternating rounds; only the ratios mean
anything on a shared machine. Data lies in a temporary directory of the system's disk.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from crc32c import crc32c

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import HEADER, NO_PRODUCER_ID, Batch
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Uuid
from barnabas.storage.compaction import compact
from barnabas.storage.compaction_job import compaction_job
from barnabas.storage.compaction_plan import gather_facts, plan_compaction
from barnabas.storage.compaction_swap import swap_in
from barnabas.storage.disk import File, SystemDisk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory, TopicPartition
from barnabas.storage.topic_config import TopicConfig

NOW = 1_700_000_000_000
CONFIG = TopicConfig.load({})
ROUNDS = 7
APPENDS_A_ROUND = 1_500
MEBIBYTE = 1 << 20


def batch_of(bytes_: int, producer_id: int = NO_PRODUCER_ID, number: int = 0) -> bytes:
    record = Record(value=bytes(bytes_ - 80), timestamp=NOW)
    if producer_id < 0:
        return build_batch([record])
    return build_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=number)


def fresh_log(directory: Path) -> Log:
    return open_log(SystemDisk(), directory, CONFIG, now_ms=NOW, clean=True)


def alternating(one: Callable[[], float], other: Callable[[], float], rounds: int = ROUNDS) -> tuple[float, float]:
    """The best of each, in rounds that take turns."""
    both = [(one(), other()) for _ in range(rounds)]
    return min(first for first, _ in both), min(second for _, second in both)


def bench_append(root: Path) -> None:
    """Appending checked batches, beside a loop that reads the header, takes the checksum and writes."""
    for size in (1_024, 16 * 1_024):
        data = batch_of(size)
        log = fresh_log(root / f"append-{size}")
        descriptor = os.open(root / f"bare-{size}", os.O_RDWR | os.O_CREAT)

        def ours(data: bytes = data, log: Log = log) -> float:
            began = time.perf_counter()
            for _ in range(APPENDS_A_ROUND):
                batch = Batch(data)
                batch.check()
                log.append_as_leader([batch], 0, NOW)
            return (time.perf_counter() - began) / APPENDS_A_ROUND

        def bare(data: bytes = data, descriptor: int = descriptor) -> float:
            position = os.fstat(descriptor).st_size
            view = memoryview(data)
            began = time.perf_counter()
            for _ in range(APPENDS_A_ROUND):
                header = HEADER.unpack_from(data)
                if crc32c(view[21:]) != header[4]:
                    raise ValueError("crc")
                os.pwrite(descriptor, data, position)
                position += len(data)
            return (time.perf_counter() - began) / APPENDS_A_ROUND

        our_s, bare_s = alternating(ours, bare)
        os.close(descriptor)
        row(f"append, batches of {size // 1024} KiB", our_s * 1e6, bare_s * 1e6, "µs", bare_s / our_s)


def bench_group_commit(root: Path) -> None:
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

    our_s, bare_s = alternating(ours, bare, rounds=5)
    os.close(descriptor)
    row("durable append of 1 KiB: 64 share a sync; each its own", our_s * 1e6, bare_s * 1e6, "µs", bare_s / our_s)


def bench_read(root: Path) -> None:
    """Finding 1 MiB at the first and at the last offset of a small and of a large log; no byte of it is read."""
    for name, segments in (("100 MiB", 1), ("20 GiB, sparse", 20)):
        log = sparse_log(root / f"read-{segments}", segments)

        def reading(offset: int, log: Log = log) -> float:
            began = time.perf_counter()
            for _ in range(2_000):
                if not len(log.read(offset, MEBIBYTE)):
                    raise ValueError("nothing read")
            return (time.perf_counter() - began) / 2_000

        first_s, last_s = alternating(partial(reading, 0), partial(reading, log.end_offset - 64))
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


def bench_reopen(root: Path) -> None:
    """Opening a directory of a thousand partitions that was closed cleanly, beside listing and reading its files."""
    path = root / "reopen"
    disk = SystemDisk()
    directory = LogDirectory(disk, path, holder="bench", report=print)
    data = batch_of(1_024)
    for number in range(1_000):
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

    our_s, bare_s = alternating(ours, bare, rounds=3)
    row("reopen 1,000 partitions after a clean stop", our_s * 1e3, bare_s * 1e3, "ms", bare_s / our_s)


def bench_recovery(root: Path) -> None:
    """Recovering a log after a crash, beside mapping the same file and taking one checksum of it all."""
    for name, bytes_, producer_id in (
        ("16 KiB", 16 * 1_024, -1),
        ("16 KiB of an idempotent producer", 16 * 1_024, 7),
        ("2 KiB", 2 * 1_024, -1),
    ):
        log = fresh_log(root / f"recovery-{bytes_}{producer_id}")
        for number in range(256 * MEBIBYTE // bytes_):
            log.append_as_leader([Batch(batch_of(bytes_, producer_id, number))], 0, NOW)
        size, file = log.size, log.active.file

        def ours(log: Log = log) -> float:
            began = time.perf_counter()
            again = open_log(SystemDisk(), log.directory, CONFIG, now_ms=NOW, clean=False)
            took = time.perf_counter() - began
            if again.end_offset != log.end_offset:
                raise ValueError("not recovered")
            return took

        def bare(file: File = file, size: int = size) -> float:
            began = time.perf_counter()
            crc32c(file.view(0, size))
            return time.perf_counter() - began

        our_s, bare_s = alternating(ours, bare)
        row(
            f"recover {size // MEBIBYTE} MiB in batches of {name}",
            size / our_s / MEBIBYTE,
            size / bare_s / MEBIBYTE,
            "MiB/s",
            bare_s / our_s,
        )


def bench_compaction(root: Path) -> None:
    """Compacting 1 KB records of which a tenth stays, beside reading the same bytes and taking their checksum."""
    config = TopicConfig.load({"cleanup.policy": "compact", "internal.segment.bytes": str(64 * MEBIBYTE)})

    def ours() -> float:
        directory = root / f"compaction-{time.monotonic_ns()}"
        log = open_log(SystemDisk(), directory, config, now_ms=NOW, clean=True)
        for number in range(8_000):
            records = [
                Record(b"key-%d" % ((number * 16 + index) % 12_800), bytes(1_000), timestamp=NOW) for index in range(16)
            ]
            log.append_as_leader([Batch(build_batch(records))], 0, NOW)
        log.roll(NOW)
        plan = plan_compaction(gather_facts(log, log.end_offset, None), NOW + 1)
        size = log.size
        job = compaction_job(log, plan, NOW + 1)
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

    our_s, bare_s = alternating(ours, bare, rounds=2)
    row("compact 1 KB records, 16 a batch", 1e-6 / our_s, 1e-6 / bare_s, "MB/s", bare_s / our_s)


def row(name: str, ours: float, bare: float, unit: str, ratio: float) -> None:
    print(f"| {name} | {ours:,.1f} | {bare:,.1f} | {unit} | {ratio:.2f} |", flush=True)


BENCHES = [bench_append, bench_group_commit, bench_read, bench_reopen, bench_recovery, bench_compaction]


def main(names: list[str]) -> None:
    """All of them, or those whose names are given."""
    root = Path(tempfile.mkdtemp(prefix="barnabas-bench-"))
    print(f"CPython {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores\n")
    print("| what | ours | bare | unit | bare / ours |\n|---|---|---|---|---|")
    try:
        for bench in BENCHES:
            if not names or bench.__name__.removeprefix("bench_") in names:
                bench(root)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main(sys.argv[1:])
