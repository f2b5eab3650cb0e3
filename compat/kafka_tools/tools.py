"""Kafka's own command line tools, from its published jars, as their scripts call them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.clients.waiting import PATIENCE_S, wait_until
from tests.kafka.classpath import java_command
from tests.kafka.tool_runner import ToolRunner

__all__ = ["TOOLS", "Tools", "Verifiable", "held", "received", "table", "wait_for_assignment"]

TOOLS = {
    "ConfigCommand": "kafka.admin.ConfigCommand",
    "ConsoleConsumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "ConsumerGroupCommand": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
}


class Broker(Protocol):
    @property
    def bootstrap(self) -> str: ...


class Tools:
    """Those that end by themselves, given a broker."""

    def __init__(self, runner: ToolRunner, broker: Broker) -> None:
        self._runner = runner
        self._broker = broker

    def run(self, tool: str, *arguments: str, stdin: str = "") -> str:
        """What it prints; AssertionError if it does not end well."""
        code, out, err = self.attempt(tool, *arguments, stdin=stdin)
        assert code == 0, f"{tool} ended with {code}:\n{out}{err[-3000:]}"
        return out

    def attempt(self, tool: str, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        name = TOOLS.get(tool, f"org.apache.kafka.tools.{tool}")
        return self._runner.attempt(name, "--bootstrap-server", self._broker.bootstrap, *arguments, stdin=stdin)


class Verifiable:
    """One that runs until it is told to stop, and says a line of JSON for all that happens to it."""

    def __init__(self, classpath: str, log: Path, tool: str, *arguments: str) -> None:
        self._log = log
        self._read = 0
        self._events: dict[str, list[dict[str, Any]]] = {}
        command = [*java_command(classpath, heap_mib=128), f"org.apache.kafka.tools.{tool}", *arguments]
        with log.open("wb") as out, log.with_suffix(".errors").open("wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)

    def said(self, what: str) -> list[dict[str, Any]]:
        with self._log.open("rb") as log:
            log.seek(self._read)
            new = log.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            event = json.loads(line)
            self._events.setdefault(event["name"], []).append(event)
        return list(self._events.get(what, ()))

    def end(self, *, kill: bool) -> None:
        if kill:
            self.process.kill()
        else:
            self.process.terminate()
        self.process.wait(PATIENCE_S)


def table(text: str) -> list[dict[str, str]]:
    """What a tool prints in columns."""
    head, *rows = [line.split() for line in text.splitlines() if line.strip()]
    return [dict(zip(head, row, strict=False)) for row in rows]


def received(*members: Verifiable) -> set[str]:
    return {event["value"] for each in members for event in each.said("record_data")}


def held(member: Verifiable) -> set[int]:
    """The partitions that it has by now."""
    found: set[int] = set()
    for event in member.said("partitions_assigned"):
        found = {one["partition"] for one in event["partitions"]}
    return found


def wait_for_assignment(members: Sequence[Verifiable], partitions: int) -> None:
    def settled() -> bool:
        shares = [held(member) for member in members]
        return all(shares) and sorted(part for share in shares for part in share) == list(range(partitions))

    wait_until(settled, lambda: f"the partitions to be assigned: {[held(member) for member in members]}")
