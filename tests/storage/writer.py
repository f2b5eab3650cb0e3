"""A program that writes to several logs until it is killed: `python -m tests.storage.writer DIRECTORY SEED FIRST`.

It prints a line for what it is about to do to a log where that is more than an append, and a line for what has been
done: whoever reads them knows what must be there. Records are numbered from FIRST on, over all logs, and each value
says to which log and which number it is. What it is about when it is killed is noted in DIRECTORY.note (under_way.py).

    appended LOG OFFSET FIRST COUNT     acknowledged, records FIRST to FIRST + COUNT - 1 from OFFSET on
    truncating LOG OFFSET               it will end there, or has not yet
    truncated LOG OFFSET
    deleting LOG OFFSET                 it will begin there or later, or has not yet
    deleted LOG OFFSET
    open, append, roll, ...             a step of this name begins
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
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
from barnabas.storage.disk import Disk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.retention import delete_due
from barnabas.storage.topic_config import TopicConfig

from .under_way import Note, NotingDisk

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


def note_of(root: Path) -> Path:
    return root.with_name(f"{root.name}.note")


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
        self.note = Note(note_of(root))
        self.disk = NotingDisk(self.note)
        self.root = root
        self.random = random.Random(seed)
        self.next = first
        self.logs: list[Log] = []
        self.take(self.open)
        self.epoch = max((log.epochs.latest_epoch or 0) for log in self.logs)

    def take(self, step: Callable[[], None]) -> None:
        with self.note.step(step.__name__):
            say(step.__name__)
            step()

    def run(self) -> None:
        steps = [self.append, self.sync, self.checkpoint, self.roll, self.truncate, self.delete, self.lead]
        while True:
            (step,) = self.random.choices([*steps, self.stop], [60, 3, 3, 3, 2, 3, 1, 1])
            self.take(step)
            if not self.logs:
                self.take(self.open)

    def one(self) -> int:
        return self.random.randrange(LOGS)

    def open(self) -> None:
        self.logs = open_logs(self.disk, self.root)

    def append(self) -> None:
        number = self.one()
        count = self.random.choice([1, 1, 2, 5])
        first, self.next = self.next, self.next + count
        numbers = range(first, first + count)
        values = [b"%d %d " % (number, each) + b"x" * self.random.randrange(300) for each in numbers]
        # Two batches where there are several records: of both or of none.
        batches = [batch_of(values)] if count < 5 else [batch_of(values[:3]), batch_of(values[3:])]
        appended = self.logs[number].append_as_leader(batches, self.epoch, NOW)
        say("appended", number, appended.first_offset, first, count)

    def sync(self) -> None:
        log = self.logs[self.one()]
        work = log.unsynced()
        work.sync()
        log.synced(work)

    def checkpoint(self) -> None:
        write_checkpoints(self.logs, self.root)

    def roll(self) -> None:
        self.logs[self.one()].roll(NOW)

    def truncate(self) -> None:
        number = self.one()
        log = self.logs[number]
        segment = self.random.choice(log.segments[-3:])
        places = [place.batch.base_offset for place in segment.places() if place.batch.base_offset >= log.start_offset]
        if places:
            offset = self.random.choice(places)
            say("truncating", number, offset)
            log.truncate_to(offset, NOW)
            say("truncated", number, offset)
            write_checkpoints(self.logs, self.root)

    def delete(self) -> None:
        number = self.one()
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

    def lead(self) -> None:
        self.epoch += 1

    def stop(self) -> None:
        """Cleanly; the next step opens them again."""
        stop_logs(self.logs, self.root)
        self.logs = []


if __name__ == "__main__":
    Program(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])).run()
