"""The same suite of fifty small tests on Barnabas's fixture and beside Apache Kafka, in one run and in turns.

    python -m bench.testing [--smoke] [RUNS]

The tests (bench/suite/) use kafka-python and know neither broker. Each session has one: Barnabas is in pytest's own
process; Kafka 4.3.1 is formatted and started for the session, as a container is (without the container, whose start is
not counted), with the options of its own script. Time is that of the whole command `pytest`,
processor time that of all its processes, memory the largest sum of what they had resident at a moment. A row is the
median of the runs. Where Kafka's jars are missing its columns are. --smoke is one run of six tests.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import threading
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import NamedTuple, Self

from bench.processes import family, resident_bytes
from bench.sound import sound
from tests.kafka.classpath import KafkaMissingError, find_classpath

ROOT = Path(__file__).resolve().parents[1]
SUITE = ROOT / "bench" / "suite"
LOOK_AGAIN_S = 0.05
LONGEST_S = 600
ALL, ONE, SMOKE = "", "test_headers_and_time", "test_values"
TESTS = {ALL: 50, ONE: 1, SMOKE: 6}


class Cost(NamedTuple):
    wall_s: float
    cpu_s: float
    peak_mib: float


def run_suite(what: str, *, apache: bool) -> Cost:
    # Of the plugins only ours: a user's others are his own.
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(SUITE), "-W", "ignore"]
    command += [word for name in ("asyncio", "trio", "xdist", "hypothesispytest") for word in ("-p", f"no:{name}")]
    command += ["-p", "no:cacheprovider", "-k", what, str(SUITE), *(["--apache"] if apache else [])]
    before = os.times()
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=SUITE)
    with Watcher(process.pid) as watcher:
        told, _ = process.communicate(timeout=LONGEST_S)
        wall_s = time.perf_counter() - began
    after = os.times()
    passed = re.search(rf"\b{TESTS[what]} passed", told)
    if process.returncode or not passed:
        raise RuntimeError(f"the suite did not pass:\n{told}")
    used_s = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(wall_s, used_s, watcher.peak_bytes / (1 << 20))


class Watcher:
    """How much memory a process and those below it have resident, looked at again and again."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.peak_bytes = 0

    def _watch(self) -> None:
        while not self._over.wait(LOOK_AGAIN_S):
            self.peak_bytes = max(self.peak_bytes, sum(map(resident_bytes, family(self._pid))))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("runs", nargs="?", type=int, default=3)
    given = parser.parse_args()
    runs, rows = (1, [SMOKE]) if given.smoke else (given.runs, [ALL, ONE])
    try:
        find_classpath()
        kinds = [False, True]
    except KafkaMissingError as missing:
        print(missing)
        kinds = [False]
    costs: dict[tuple[str, bool], list[Cost]] = {}
    run_suite(ONE, apache=False)  # Python compiles what it imports
    for _ in range(runs):
        for what in rows:
            for apache in kinds:
                costs.setdefault((what, apache), []).append(run_suite(what, apache=apache))
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {runs} runs\n")
    print(
        "| `pytest` | Barnabas | its CPU | peak memory | Kafka | its CPU | peak memory |\n|---|---|---|---|---|---|---|"
    )
    for what in rows:
        cells = [f"{TESTS[what]} tests" if TESTS[what] > 1 else "one of them alone"]
        for apache in kinds:
            wall, cpu, peak = (statistics.median(figures) for figures in zip(*costs[what, apache], strict=True))
            sound(what or "all", wall, cpu, peak)
            cells += [f"{wall:.1f} s", f"{cpu:.1f} s", f"{peak:.0f} MiB"]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
