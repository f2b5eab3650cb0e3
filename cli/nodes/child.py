"""One node of a cluster on one machine: a process, what it says, and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping

import trio

from barnabas.broker.event_log import Event, Level, Report
from barnabas.cli.nodes.plan import PlannedNode

__all__ = ["Child"]

_OWN_FIELDS = frozenset({"time", "level", "message"})


class Child:
    def __init__(self, planned: PlannedNode, report: Report) -> None:
        self.planned = planned
        self._report = report
        self.ready: Mapping[str, object] = {}
        """What it said when it was; nothing before."""
        self.has_begun = trio.Event()
        """It is ready, or has ended before."""
        self.has_ended = trio.Event()
        self.exit_code: int | None = None
        self._process: trio.Process | None = None
        self._is_told = False

    @property
    def name(self) -> str:
        return f"node {self.planned.id}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and not self.has_ended.is_set()

    async def run(self) -> None:
        """From its start to its end."""
        command = [sys.executable, "-m", "barnabas.cli", "start", "--config", str(self.planned.file)]
        command += ["--json", "--ends-with", str(os.getpid())]
        try:
            # A group of its own: Ctrl-C is for whoever started all of them, and stops them in their order.
            self._process = await trio.lowlevel.open_process(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            assert self._process.stdout is not None
            await self._listen(self._process.stdout)
            self.exit_code = await self._process.wait()
        finally:
            if self._process is not None and self._process.returncode is None:
                self._process.kill()
                with trio.CancelScope(shield=True):
                    await self._process.wait()
            self.has_ended.set()
            self.has_begun.set()

    async def _listen(self, stdout: trio.abc.ReceiveStream) -> None:
        rest = b""
        async for data in stdout:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._hear(line.decode(errors="replace"))
        if rest:
            self._hear(rest.decode(errors="replace"))

    def _hear(self, line: str) -> None:
        try:
            told = json.loads(line)
            text, level = told["message"], Level(told["level"])
        except (ValueError, KeyError, TypeError):
            told, text, level = {}, line.removeprefix("barnabas: "), Level.WARNING
        if told.get("event") == "ready":
            self.ready = told
            self.has_begun.set()
            return
        fields = {key: value for key, value in told.items() if key not in _OWN_FIELDS}
        self._report(Event(f"{self.name}: {text}", level, **{**fields, "node_id": self.planned.id}))

    def stop(self) -> None:
        """Once: who is told twice to stop leaves everything as it is."""
        if not self._is_told:
            self._is_told = True
            self.signal(signal.SIGTERM)

    def signal(self, number: signal.Signals) -> None:
        if self.is_running:
            assert self._process is not None
            self._process.send_signal(number)

    @property
    def end(self) -> str:
        """How it ended, in words."""
        if self.exit_code is not None and self.exit_code < 0:
            return f"was ended by {signal.Signals(-self.exit_code).name}"
        return f"ended with exit code {self.exit_code}"
