"""`barnabas start` as a process of its own, which tests wait for, ask and end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.kafka.client import RawClient

READY_S = 30
END_S = 15


class StartedBroker:
    """`lines` are the events it has told, as JSON; ready when one says so."""

    def __init__(self, directory: Path, *arguments: str, listen: str | None = "127.0.0.1:0") -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "barnabas.cli", "start", "--json"]
        command += ["--listen", listen] if listen else []
        self.process = subprocess.Popen(
            [*command, *arguments], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.lines: list[dict[str, Any]] = []
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(json.loads(line))
            if self.lines[-1].get("event") == "ready":
                self._ready.set()
        self._ready.set()

    def wait_ready(self) -> Self:
        assert self._ready.wait(READY_S), "it is not ready in time"
        assert self.process.poll() is None or self.lines, self.process.communicate()
        return self

    @property
    def banner(self) -> dict[str, Any]:
        return next(line for line in self.lines if line.get("event") == "ready")

    @property
    def messages(self) -> Sequence[str]:
        return [line["message"] for line in self.lines]

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.banner["listeners"][0].split(" ")[1].rpartition(":")
        return host, int(port)

    def client(self) -> RawClient:
        return RawClient(*self.address)

    def signal(self, number: int = signal.SIGTERM) -> None:
        os.kill(self.process.pid, number)

    def wait(self) -> int:
        """The exit code; what it wrote to stderr is `errors` then."""
        code = self.process.wait(END_S)
        self._reader.join()
        assert self.process.stderr is not None
        self.errors = self.process.stderr.read()
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
