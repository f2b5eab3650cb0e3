"""Idempotent producers, each in a process of its own (sender.py, JavaSender.java), seen from the test."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.clients.broker_process import REPOSITORY
from tests.clients.waiting import PATIENCE_S
from tests.kafka.classpath import java_command

__all__ = ["Sender", "java_sender", "python_sender"]

JAVA_SOURCE = Path(__file__).with_name("JavaSender.java")


class Sender:
    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self.acknowledged: list[tuple[int, int, int]] = []
        """Partition, offset and number of each record, in the order of sending."""
        self.rounds = 0
        """How many times it has sent some records and has seen all of them acknowledged."""
        self.sent = -1
        """Said at the end."""
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd=REPOSITORY
            )
        self._thread = threading.Thread(target=self._listen, name=f"sender {name}")
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._end()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if not line.endswith(b"\n"):
                return  # killed in the middle of a line
            said = json.loads(line)
            self.acknowledged += [tuple(place) for place in said.get("acknowledged", ())]
            self.rounds += "acknowledged" in said
            self.sent = said.get("sent", self.sent)

    def check_runs(self) -> None:
        code = self._process.poll()
        assert code is None, f"{self.name} ended with {code}: {self._log.read_text()[-3000:]}"

    def finish(self) -> None:
        """It sends nothing new, and ends when all that it sent is acknowledged."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._end()
        assert self.sent >= 0, f"{self.name} ended with {self._process.returncode}: {self._log.read_text()[-3000:]}"

    def _end(self) -> None:
        self._process.wait(PATIENCE_S * 2)
        self._thread.join(PATIENCE_S)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()


def python_sender(client: str, bootstrap: str, topic: str, partitions: int, log: Path) -> Sender:
    command = [sys.executable, "-m", "tests.clients.sender", client, bootstrap, topic, str(partitions)]
    return Sender(client, command, log)


def java_sender(classpath: str, bootstrap: str, topic: str, partitions: int, log: Path) -> Sender:
    command = [*java_command(classpath, heap_mib=128), str(JAVA_SOURCE), bootstrap, topic, str(partitions)]
    return Sender("java", command, log)
