"""kcat, one that ends by itself and one that goes on."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.clients.waiting import PATIENCE_S, wait_until

__all__ = ["Kcat", "RunningKcat", "find_kcat", "wait_for_assignment"]


def find_kcat() -> str | None:
    return shutil.which("kcat") or shutil.which("kafkacat")


class Kcat:
    def __init__(self, program: str, bootstrap: str) -> None:
        self.command = [program, "-b", bootstrap, "-m", "20"]

    def run(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [*self.command, *arguments], check=False, input=stdin, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"kcat ended with {done.returncode}: {done.stderr}"
        return done.stdout


class RunningKcat:
    """One that goes on until it is told to stop."""

    def __init__(self, kcat: Kcat, log: Path, *arguments: str) -> None:
        self._out, self._errors = log, log.with_suffix(".errors")
        with self._out.open("wb") as out, self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [*kcat.command, *arguments], stdin=subprocess.PIPE, stdout=out, stderr=errors, text=True
            )

    def send(self, numbers: range) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{number}\n" for number in numbers))
        self.process.stdin.flush()

    def lines(self) -> list[str]:
        return [line.rstrip("\n") for line in self._out.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def assigned(self) -> set[int]:
        """What it says last that it has been given."""
        told = re.findall(r"rebalanced \(memberid \S+\): (assigned|revoked): (.*)", self._errors.read_text())
        if not told or told[-1][0] == "revoked":
            return set()
        return {int(partition) for partition in re.findall(r"\[(\d+)\]", told[-1][1])}

    def end(self, how: signal.Signals | None = None) -> int:
        """Its exit code; without a signal its stdin ends."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        if how is not None:
            self.process.send_signal(how)
        return self.process.wait(PATIENCE_S)


def wait_for_assignment(members: list[RunningKcat], partitions: set[int]) -> None:
    def settled() -> bool:
        shares = [member.assigned() for member in members]
        return all(shares) and sorted(part for share in shares for part in share) == sorted(partitions)

    wait_until(settled, lambda: f"the partitions to be assigned: {[member.assigned() for member in members]}")
