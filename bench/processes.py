"""What a process and those below it use, as the kernel counts it."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["anonymous_mib", "cpu_s", "family", "most_resident_mib", "resident_bytes", "resident_mib"]

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
CPU_CLOCK = 2
"""The kernel's CPUCLOCK_SCHED: a process's clock is its negated id and this."""


def family(pid: int) -> list[int]:
    """A broker may have workers: what they use is the broker's."""
    found = [pid]
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += family(int(child))
    return found


def cpu_s(pid: int) -> float:
    """User and system, of all threads, to the nanosecond; of those workers that have ended, to the tick."""
    total = 0.0
    for each in family(pid):
        with suppress(OSError):
            total += time.clock_gettime(~each << 3 | CPU_CLOCK) + _of_ended_children_s(each)
    return total


def _of_ended_children_s(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[13]) + int(words[14])) / TICKS


def anonymous_mib(pid: int) -> float:
    """What is no file's: the page cache and shared libraries are everybody's."""
    return sum(_status_kib(each, "RssAnon") for each in family(pid)) / 1024


def resident_mib(pid: int) -> float:
    """With what it shares with others and what is the page cache's."""
    return sum(_status_kib(each, "VmRSS") for each in family(pid)) / 1024


def most_resident_mib(pid: int) -> float:
    """That there ever was, each of them for itself."""
    return sum(_status_kib(each, "VmHWM") for each in family(pid)) / 1024


def _status_kib(pid: int, key: str) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1])
    return 0


def resident_bytes(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    return 0
