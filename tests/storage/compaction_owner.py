"""The owner of a log and its worker process, as tests have them; and a program that is both, to be killed:
`python -m tests.storage.compaction_owner DIRECTORY SEED FIRST`.

The program appends, rolls, and compacts through a worker, for ever. It prints a line for what it has done, and reads
one before it goes on where that is said:

    worker PID
    opened END
    appended OFFSET KEY NUMBER      acknowledged
    compacting FIRST_DIRTY END      about to; records from END on are not touched
    cleaned BASE_OFFSET             the worker waits, and so does the program for a line
    swapped BASE_OFFSET
    compacted CLEAN_OFFSET
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Self

from barnabas.storage.compaction_checkpoint import CleanerCheckpoint
from barnabas.storage.compaction_job import CompactionJob, compaction_job
from barnabas.storage.compaction_messages import (
    Cleaned,
    Continue,
    Done,
    Message,
    MessageReader,
    Ready,
    Start,
    encode_message,
)
from barnabas.storage.compaction_swap import swap_in
from barnabas.storage.disk import Disk, SystemDisk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from tests.readable import readable

from .compacted import NOW, append, config_of, planned
from .under_way import Note, NotingDisk

REPOSITORY = Path(__file__).parents[2]
KEYS = 40
LONGEST_S = 60
"""Nothing a worker does in a test takes as long."""


class WorkerProcess:
    def __init__(self, *arguments: str, stderr: IO[bytes] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "barnabas.storage.compaction_worker", *arguments],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._reader = MessageReader()
        self._waiting: list[Message] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.end()

    def end(self) -> int:
        """Close its input, and wait."""
        self._stdin.close()
        self._stdout.close()
        return self.process.wait(LONGEST_S)

    def send(self, message: Message) -> None:
        self._stdin.write(encode_message(message))

    def next(self, timeout_s: float = LONGEST_S) -> Message | None:
        """None if nothing came in time."""
        while not self._waiting:
            if not readable(self._stdout, within_s=timeout_s):
                return None
            data = self._stdout.read(1 << 16)
            if not data:
                raise EOFError("the worker has ended")
            self._waiting = self._reader.feed(data)
        return self._waiting.pop(0)

    def expect(self, kind: type[Message]) -> Message:
        message = self.next()
        assert type(message) is kind, f"{message} and not {kind.__name__}"
        return message

    def results(self, job: CompactionJob, bytes_per_second: float | None = None) -> Iterator[Cleaned]:
        """Each is to be swapped in before the next is asked for."""
        self.send(Start(job, bytes_per_second))
        while not isinstance(message := self.next(), Done):
            if isinstance(message, Cleaned):
                yield message
                self.send(Continue())


def open_owned(directory: Path, disk: Disk | None = None) -> Log:
    config = config_of(internal_segment_bytes="20000")
    return open_log(disk or SystemDisk(), directory / "orders-0", config, now_ms=NOW, clean=False)


def note_of(directory: Path) -> Path:
    """What the owner is about (under_way.py)."""
    return directory / "owner.note"


def say(*words: object) -> None:
    print(*words, flush=True)


def append_some(log: Log, chance: random.Random, number: int, count: int) -> Iterator[tuple[int, int, int]]:
    """The offset, key and number of each."""
    for each in range(number, number + count):
        key = chance.randrange(KEYS)
        offset = append(log, (b"k%d" % key, b"%d " % each + b"x" * chance.randrange(300)))
        yield offset, key, each


def main(directory: Path, seed: int, number: int) -> None:
    chance = random.Random(seed)
    note = Note(note_of(directory))
    with WorkerProcess() as worker:
        say("worker", worker.process.pid)
        worker.expect(Ready)
        with note.step("open"):
            log = open_owned(directory, NotingDisk(note))
        checkpoint = CleanerCheckpoint(log.disk, directory)
        say("opened", log.end_offset)
        while True:
            with note.step("append"):
                for appended in append_some(log, chance, number, 400):
                    say("appended", *appended)
                log.roll(NOW)
            number += 400
            plan = planned(log, clean=checkpoint.offset("orders", 0))
            job = compaction_job(log, plan, NOW)
            say("compacting", plan.first_dirty_offset, plan.end_offset)
            clean_offset = job.first_dirty_offset
            for result in worker.results(job):
                say("cleaned", result.segment.base_offset)
                sys.stdin.readline()
                with note.step("swap in"):
                    swap_in(log, job, result.segment)
                say("swapped", result.segment.base_offset)
                clean_offset = result.segment.clean_offset
                with note.step("remove"):
                    for segment in log.removed:
                        segment.remove()
                log.removed.clear()
            with note.step("checkpoint"):
                checkpoint.set("orders", 0, clean_offset)
            say("compacted", clean_offset)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
