"""Members of a group, each in a process of its own, seen from the test."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from compat.rounds.adapter import ConsumerSettings, Producing
from tests.clients.waiting import PATIENCE_S, wait_until

__all__ = ["Member", "Sender", "check_once", "wait_for_assignment", "wait_for_values"]

REPOSITORY = Path(__file__).resolve().parents[2]


class Member:
    def __init__(self, client: str, settings: ConsumerSettings, log: Path) -> None:
        self.settings = settings
        self.assigned: set[int] = set()
        self.assignments = 0
        """How many times it was told another assignment."""
        self.received: list[tuple[int, int, str]] = []
        self.has_left = False
        self.said: list[dict[str, Any]] = []
        """All of it."""
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "compat.rounds.member", client, json.dumps(asdict(settings))],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=REPOSITORY,
            )
        self._thread = threading.Thread(target=self._listen, name=f"member of {settings.group}")
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.die()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                said = json.loads(line)
            except json.JSONDecodeError:
                assert not line.endswith(b"\n"), line
                return  # killed in the middle of a line
            self.said.append(said)
            if "assigned" in said:
                self.assignments += 1
                self.assigned = set(said["assigned"])
            self.received += [(partition, offset, value) for partition, offset, value in said.get("received", ())]
            self.has_left |= "left" in said

    @property
    def values(self) -> list[str]:
        return [value for _, _, value in self.received]

    def leave(self) -> None:
        """It closes its consumer, which tells the group."""
        self._process.send_signal(signal.SIGTERM)
        self._end()
        assert self.has_left, f"it ended with {self._process.returncode}: {self._log.read_text()[-3000:]}"

    def die(self) -> None:
        """Without a word."""
        self._process.kill()
        self._end()

    def _end(self) -> None:
        self._process.wait(PATIENCE_S)
        self._thread.join(PATIENCE_S)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def check_runs(self) -> None:
        code = self._process.poll()
        assert code is None, f"it ended with {code}: {self._log.read_text()[-3000:]}"


def wait_for_assignment(members: Sequence[Member], partitions: int, *, each: bool = True) -> None:
    """Until they have all partitions between them, none twice; and, unless told otherwise, nobody has none."""

    def settled() -> bool:
        for member in members:
            member.check_runs()
        held = [partition for member in members for partition in member.assigned]
        return sorted(held) == list(range(partitions)) and (not each or all(member.assigned for member in members))

    wait_until(settled, lambda: f"{partitions} partitions to be assigned: {[member.assigned for member in members]}")


def wait_for_values(members: Sequence[Member], wanted: Sequence[str]) -> None:
    """Until each of these values has reached somebody."""
    whole = set(wanted)
    wait_until(lambda: whole <= {value for member in members for value in member.values}, f"{len(whole)} values")


class Sender:
    """Sends numbered values to all partitions in turn."""

    def __init__(self, producer: Producing, topic: str, partitions: int) -> None:
        self._producer, self._topic, self._partitions = producer, topic, partitions
        self.sent: list[str] = []

    def send(self, how_many: int) -> list[str]:
        values = [str(number) for number in range(len(self.sent), len(self.sent) + how_many)]
        for value in values:
            self._producer.send(self._topic, value.encode(), partition=int(value) % self._partitions)
        self._producer.flush()
        self.sent += values
        return values


def check_once(members: Sequence[Member], values: Sequence[str]) -> None:
    """Nobody is joining or leaving: each value reaches one member, once, in the order of its partition."""
    wait_for_values(members, values)
    wanted = set(values)
    received = [value for member in members for value in member.values if value in wanted]
    assert sorted(received) == sorted(values), f"{len(received)} came of {len(values)}"
    for member in members:
        last: dict[int, int] = {}
        for partition, offset, value in list(member.received):
            if value in wanted:
                assert last.get(partition, -1) < offset, f"{partition}:{offset} came after {last[partition]}"
                last[partition] = offset
