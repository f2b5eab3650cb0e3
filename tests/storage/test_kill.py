"""kill -9 at any instant loses no acknowledged record, and brings none twice.

A program (writer.py) appends to several logs, rolls, truncates, deletes, checkpoints, stops cleanly and starts again;
it is killed after a seeded number of its lines, wherever it is by then. Its directory is opened here and compared with
what it said, and the next one goes on there.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from barnabas.storage.disk import SystemDisk
from barnabas.storage.log import Log

from .test_durability import check_whole, visible
from .writer import LOGS, open_logs, stop_logs

REPOSITORY = Path(__file__).parents[2]
THOROUGH = os.environ.get("BARNABAS_THOROUGH") == "1"
KILLS = 1_000 if THOROUGH else 160
"""For each of two directories."""


class Model:
    """What the lines say of one log."""

    def __init__(self) -> None:
        self.records: dict[int, int] = {}
        """The number of the record at each offset."""
        self.start = 0
        """Records before it may be gone."""
        self.cutting: int | None = None
        """Records from here on may be gone."""
        self.floor = 0
        """Up to here records were being deleted: those that a kill brings back have lost their leader epoch."""

    def take(self, word: str, numbers: list[int]) -> None:
        if word == "appended":
            offset, first, count = numbers
            assert offset == max(self.records, default=offset - 1) + 1
            self.records.update({offset + each: first + each for each in range(count)})
        elif word == "truncating":
            self.cutting = numbers[0]
        elif word == "truncated":
            self.records = {at: number for at, number in self.records.items() if at < numbers[0]}
            self.cutting = None
        elif word == "deleting":
            self.start = numbers[0]
            self.floor = max(self.floor, numbers[0])
        elif word == "deleted":
            self.start = numbers[0]

    def compare(self, number: int, log: Log) -> None:
        found = {}
        for at, value in visible(log, 3_000).items():
            writer, written = value.split()[:2]
            assert int(writer) == number
            found[at] = int(written)
        numbers = list(found.values())
        assert numbers == sorted(set(numbers)), "a record is there twice or out of order"
        assert list(found) == list(range(log.start_offset, log.end_offset)), "offsets are missing"
        certain = {
            at: record
            for at, record in self.records.items()
            if at >= max(self.start, log.start_offset if log.start_offset <= self.start else 0)
            and (self.cutting is None or at < self.cutting)
        }
        missing = certain.items() - found.items()
        assert not missing, f"log {number}: lost or different: {sorted(missing)[:5]}"
        last = max(self.records, default=log.start_offset - 1)
        for at, seen in found.items():
            if at in self.records:
                assert self.records[at] == seen
            elif self.records and at > min(self.records):
                # The append whose line was not printed any more, or not read.
                assert last < at <= last + 5, f"log {number}: {seen} at {at}, behind {last}"
        self.records = found
        self.start, self.cutting = log.start_offset, None


class Lines:
    """The lines of a program, for one directory after the other."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.seed = seed
        self.random = random.Random(seed)
        self.models = [Model() for _ in range(LOGS)]
        self.next = 0
        self.while_doing: dict[str, int] = {}

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.storage.writer", str(self.root), str(self.random.random())[2:12]]
        return subprocess.Popen([*command, str(self.next)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)

    def kill_one(self) -> None:
        """After some lines, or while it is still starting: opening is a time to be killed in, too."""
        with self.start() as program:
            assert program.stdout is not None
            lines = []
            wanted = self.random.choice([1, 1, 2, 5, 20, 60, 120])
            for line in program.stdout:
                lines.append(line)
                if len(lines) >= wanted:
                    break
            program.send_signal(signal.SIGKILL)
            rest = program.stdout.read()
        assert program.returncode == -signal.SIGKILL
        lines += rest.splitlines(keepends=True)
        for line in lines:
            if line.endswith("\n"):  # else it was killed while it spoke
                self.take(line.split())
        self.while_doing[lines[-1].split()[0]] = self.while_doing.get(lines[-1].split()[0], 0) + 1
        self.next += 10_000

    def take(self, words: list[str]) -> None:
        if len(words) > 1:
            self.models[int(words[1])].take(words[0], list(map(int, words[2:])))

    def compare(self) -> None:
        logs = open_logs(SystemDisk(), self.root)
        for number, (model, log) in enumerate(zip(self.models, logs, strict=True)):
            model.compare(number, log)
            check_whole(log, model.floor)
        if self.random.random() < 0.3:
            stop_logs(logs, self.root)

    def run(self, kills: int) -> dict[str, int]:
        for kill in range(kills):
            try:
                self.kill_one()
                self.compare()
            except BaseException as error:
                error.add_note(f"seed {self.seed}, kill {kill}, in {self.root}")
                raise
        return self.while_doing


@pytest.mark.slow
def test_killed_writers_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(Lines(tmp_path / f"data{seed}", seed).run, KILLS) for seed in range(2)]
        for run in runs:
            print(run.result())
