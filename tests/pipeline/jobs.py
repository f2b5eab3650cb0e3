"""Jobs of the pipeline as programs, which tests watch, kill and start again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients.broker_process import REPOSITORY
from tests.clients.waiting import wait_until
from tests.spark_jars import jars_or_skip

__all__ = ["JOB_S", "Job", "find_spark", "run", "started"]

JOB_S = 120.0
"""Until a job has started and done what a test gives it, on a machine that does other things too."""


def find_spark() -> Path:
    """Where the jars are; the test is skipped without them."""
    return Path(jars_or_skip().split(",")[0]).parent


class Job:
    """What it says is in a file, a line of JSON each."""

    def __init__(self, process: subprocess.Popen[bytes], said: Path, complained: Path) -> None:
        self._process = process
        self._said = said
        self._complained = complained

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        lines = self._said.read_bytes().splitlines(keepends=True)
        found = [json.loads(line) for line in lines if line.endswith(b"\n") and line.startswith(b"{")]
        return [event for event in found if kind is None or event["event"] == kind]

    @property
    def complaint(self) -> str:
        return self._complained.read_text()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait(self) -> int:
        return self._process.wait(JOB_S)

    def end(self, how: signal.Signals) -> None:
        """And with it the JVM that it has started, and that one's workers: their pipes break."""
        self._process.send_signal(how)
        self._process.wait(JOB_S)


@contextmanager
def started(directory: Path, *arguments: str) -> Iterator[Job]:
    number = len(list(directory.glob("job-*.out")))
    said, complained = directory / f"job-{number}.out", directory / f"job-{number}.err"
    with said.open("wb") as output, complained.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "barnabas.cli", "pipeline", *arguments, "--json"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            cwd=REPOSITORY,
            env={**os.environ, "BARNABAS_SPARK_JARS": str(find_spark())},
        )
    job = Job(process, said, complained)
    try:
        yield job
    finally:
        if job.is_running:
            process.kill()
            process.wait()


def run(directory: Path, *arguments: str) -> Job:
    """To its end, which is a good one."""
    with started(directory, *arguments) as job:
        wait_until(lambda: not job.is_running, lambda: f"{arguments} to end: {job.events()[-3:]}", JOB_S)
        assert job.wait() == 0, job.complaint
        return job
