"""A Barnabas node in a process of its own, that tests stop, kill and start again on the same port and directory."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.clients.waiting import wait_until
from tests.kafka.broker import HOST, SMALL, free_ports
from tests.kafka.client import RawClient

REPOSITORY = Path(__file__).resolve().parents[2]
START_S = 30
STOP_S = 30

QUICK: Mapping[str, str] = {**SMALL, "group.min.session.timeout.ms": "500"}
"""One partition of each internal topic, and members that may be declared dead within a second."""


class BrokerProcess:
    """The same surface as KafkaBroker's: start, stop, kill, bootstrap, host, port."""

    def __init__(self, directory: Path, config: Mapping[str, str] | None = None) -> None:
        self.host = HOST
        (self.port,) = free_ports(1)  # which no client gets while the broker is away
        self.log_file = directory / "broker.log"
        self.data_directory = directory / "data"
        self._config = {**QUICK, **(config or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._log_read = 0

    def __enter__(self) -> Self:
        if self._process is None:
            self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"

    def client(self) -> RawClient:
        return RawClient(self.host, self.port)

    def start(self) -> None:
        assert self._process is None, "the broker runs already"
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "barnabas.cli", "start", f"--data={self.data_directory}"]
        command += [f"--listen={HOST}:{self.port}", "--set=barnabas.logging.format=json"]
        before = self.log_file.stat().st_size if self.log_file.exists() else 0
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *(f"--set={key}={value}" for key, value in self._config.items())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=REPOSITORY,
            )
        try:
            wait_until(lambda: self._is_ready(before), f"the broker to start; its log: {self.log_file}", START_S)
        except BaseException:
            self.kill()
            raise

    def _is_ready(self, since: int) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"the broker ended: {self.log_file.read_text()[-4000:]}"
        for line in self.log_file.read_bytes()[since:].splitlines(keepends=True):
            if line.endswith(b"\n") and json.loads(line).get("listeners"):
                return True
        return False

    def stop(self) -> None:
        """A clean stop."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """What is left is what the page cache holds."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        self._end(signal.SIGTERM)

    def restart(self, *, kill: bool = False) -> None:
        """On the same port, so that clients find it again."""
        self._end(signal.SIGKILL if kill else signal.SIGTERM)
        self.start()

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the broker did not stop within {STOP_S} s; its log: {self.log_file}") from None

    def new_failures(self) -> str:
        """What the broker logged since the last call, if an error is in it: then we are broken, whatever the client
        made of it."""
        said = self.log_file.read_bytes()[self._log_read :]
        self._log_read += len(said)
        return said.decode(errors="replace") if b'"error"' in said or b"Traceback" in said else ""
