"""kill -9 at any instant loses no acknowledged record, and brings none twice.

A program (writer.py) appends to several logs, rolls, truncates, deletes, checkpoints, stops cleanly and starts again;
it is killed some moment after it has begun with a step that is drawn, wherever it is by then. Its directory is opened
here and compared with what it said, and the next one goes on there. Kills tell what they fell in (under_way.py).
BARNABAS_SEED draws others.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from barnabas.storage.disk import SystemDisk
from barnabas.storage.log import Log

from .test_durability import check_whole, visible
from .under_way import UnderWay, read_under_way, told
from .writer import LOGS, note_of, open_logs, stop_logs

REPOSITORY = Path(__file__).parents[2]
THOROUGH = os.environ.get("BARNABAS_THOROUGH") == "1"
KILLS = 1_000 if THOROUGH else 160
"""For each of two directories."""
SEED = int(os.environ.get("BARNABAS_SEED", "0"))
STEPS = ("open", "append", "sync", "checkpoint", "roll", "truncate", "delete", "stop")
LONGEST_STEP_S = 0.004


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
        self.met: list[UnderWay] = []

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.storage.writer", str(self.root), str(self.random.random())[2:12]]
        return subprocess.Popen([*command, str(self.next)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)

    def kill_one(self) -> None:
        wanted = self.random.choice(STEPS)
        times = self.random.choice([1, 1, 2, 5] if wanted != "append" else [1, 5, 20, 60, 120])
        with self.start() as program:
            assert program.stdout is not None
            lines = []
            for line in program.stdout:
                lines.append(line)
                times -= line.rstrip() == wanted
                if not times:
                    break
            threading.Event().wait(self.random.random() * LONGEST_STEP_S * self.random.choice([0, 0.1, 1]))
            program.send_signal(signal.SIGKILL)
            rest = program.stdout.read()
        assert program.returncode == -signal.SIGKILL
        lines += rest.splitlines(keepends=True)
        for line in lines:
            if line.endswith("\n"):  # else it was killed while it spoke
                self.take(line.split())
        self.met.append(read_under_way(note_of(self.root)))
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

    def run(self, kills: int) -> list[UnderWay]:
        for kill in range(kills):
            try:
                self.kill_one()
                self.compare()
            except BaseException as error:
                error.add_note(f"seed {self.seed}, kill {kill} in {self.met[-1:]}, in {self.root}")
                raise
        return self.met


@pytest.mark.slow
def test_killed_writers_lose_nothing_and_repeat_nothing(tmp_path: Path, figure: Callable[[str], None]) -> None:
    figure(f"BARNABAS_SEED={SEED}")
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(Lines(tmp_path / f"data{seed}", seed).run, KILLS) for seed in (SEED, SEED + 1)]
        met = [each for run in runs for each in run.result()]
    for line in told(met):
        figure(line)
    steps = Counter(each.step for each in met)
    assert len(met) == 2 * KILLS
    assert min(steps[step] for step in STEPS) >= KILLS // 20, steps
