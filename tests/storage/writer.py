"""A program that writes to several logs until it is killed: `python -m tests.storage.writer DIRECTORY SEED FIRST`.

It prints a line for what it is about to do to a log where that is more than an append, and a line for what has been
done: whoever reads them knows what must be there. Records are numbered from FIRST on, over all logs, and each value
says to which log and which number it is.

    appended LOG OFFSET FIRST COUNT     acknowledged, records FIRST to FIRST + COUNT - 1 from OFFSET on
    truncating LOG OFFSET               it will end there, or has not yet
    truncated LOG OFFSET
    deleting LOG OFFSET                 it will begin there or later, or has not yet
    deleted LOG OFFSET
    stopped, opened                     cleanly; and all logs are open
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.record import Record
from barnabas.storage.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_OFFSET_CHECKPOINT,
    read_clean_shutdown,
    read_offsets,
    remove_clean_shutdown,
    write_clean_shutdown,
    write_offsets,
)
from barnabas.storage.disk import Disk, SystemDisk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.retention import delete_due
from barnabas.storage.topic_config import TopicConfig

NOW = 1_000_000
LOGS = 3
CONFIG = TopicConfig.load(
    {
        "internal.segment.bytes": "2000",
        "index.interval.bytes": "200",
        "retention.bytes": "30000",
        "retention.ms": "-1",
        "segment.index.bytes": "4000",
    }
)


def open_logs(disk: Disk, root: Path) -> list[Log]:
    disk.make_directory(root)
    clean = read_clean_shutdown(disk, root) is not None
    remove_clean_shutdown(disk, root)
    recovery_points = read_offsets(disk, root / RECOVERY_POINT_OFFSET_CHECKPOINT)
    start_offsets = read_offsets(disk, root / LOG_START_OFFSET_CHECKPOINT)
    return [
        open_log(
            disk,
            root / f"orders-{number}",
            CONFIG,
            now_ms=NOW,
            clean=clean,
            recovery_point=recovery_points.get(("orders", number), 0),
            start_offset=start_offsets.get(("orders", number), 0),
        )
        for number in range(LOGS)
    ]


def write_checkpoints(logs: list[Log], root: Path) -> None:
    disk = logs[0].disk
    write_offsets(
        disk,
        root / RECOVERY_POINT_OFFSET_CHECKPOINT,
        {("orders", number): log.recovery_point for number, log in enumerate(logs)},
    )
    write_offsets(
        disk,
        root / LOG_START_OFFSET_CHECKPOINT,
        {("orders", number): log.start_offset for number, log in enumerate(logs)},
    )


def stop_logs(logs: list[Log], root: Path) -> None:
    for log in logs:
        log.close()
    write_checkpoints(logs, root)
    write_clean_shutdown(logs[0].disk, root)


def batch_of(values: list[bytes]) -> Batch:
    return Batch(build_batch([Record(value=value, timestamp=NOW) for value in values]))


def say(*words: object) -> None:
    print(*words, flush=True)


class Program:
    def __init__(self, root: Path, seed: int, first: int) -> None:
        self.disk = SystemDisk()
        self.root = root
        self.random = random.Random(seed)
        self.next = first
        self.logs = open_logs(self.disk, root)
        self.epoch = max((log.epochs.latest_epoch or 0) for log in self.logs)

    def run(self) -> None:
        say("opened")
        steps = [self.append, self.sync, self.checkpoint, self.roll]
        steps += [self.truncate, self.delete, self.lead, self.restart]
        while True:
            number = self.random.randrange(LOGS)
            (step,) = self.random.choices(steps, [60, 3, 3, 3, 2, 3, 1, 1])
            step(number)

    def append(self, number: int) -> None:
        count = self.random.choice([1, 1, 2, 5])
        first, self.next = self.next, self.next + count
        numbers = range(first, first + count)
        values = [b"%d %d " % (number, each) + b"x" * self.random.randrange(300) for each in numbers]
        # Two batches where there are several records: of both or of none.
        batches = [batch_of(values)] if count < 5 else [batch_of(values[:3]), batch_of(values[3:])]
        appended = self.logs[number].append_as_leader(batches, self.epoch, NOW)
        say("appended", number, appended.first_offset, first, count)

    def sync(self, number: int) -> None:
        work = self.logs[number].unsynced()
        work.sync()
        self.logs[number].synced(work)

    def checkpoint(self, _number: int) -> None:
        write_checkpoints(self.logs, self.root)

    def roll(self, number: int) -> None:
        self.logs[number].roll(NOW)

    def truncate(self, number: int) -> None:
        log = self.logs[number]
        segment = self.random.choice(log.segments[-3:])
        places = [place.batch.base_offset for place in segment.places() if place.batch.base_offset >= log.start_offset]
        if places:
            offset = self.random.choice(places)
            say("truncating", number, offset)
            log.truncate_to(offset, NOW)
            say("truncated", number, offset)
            write_checkpoints(self.logs, self.root)

    def delete(self, number: int) -> None:
        log = self.logs[number]
        offset = self.random.choice(log.segments).base_offset
        say("deleting", number, log.end_offset)
        if offset > log.start_offset:
            log.advance_start(offset)
        delete_due(log, log.end_offset, NOW)
        say("deleted", number, log.start_offset)
        for segment in log.removed:
            segment.remove()
        log.removed.clear()

    def lead(self, _number: int) -> None:
        self.epoch += 1

    def restart(self, _number: int) -> None:
        stop_logs(self.logs, self.root)
        say("stopped")
        self.logs = open_logs(self.disk, self.root)
        say("opened")


if __name__ == "__main__":
    Program(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])).run()
