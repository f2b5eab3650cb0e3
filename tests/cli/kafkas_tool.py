"""Kafka's own tool on one of the two clusters, its arguments as they are: BROKER stands for the address."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.beside import Ran, Side
from tests.clients.kafka_tools import RUNNER
from tests.kafka.java_oracle import JavaOracle

__all__ = ["Kafkas", "same_lines"]

Oracles = Callable[[Path], JavaOracle]


class Kafkas:
    """Tools by the classes behind org.apache.kafka.tools, all in one JVM."""

    def __init__(self, oracles: Oracles) -> None:
        self._oracles = oracles

    def __call__(self, side: Side, tool: str, *arguments: str) -> Ran:
        whole = [side.bootstrap if argument == "BROKER" else argument for argument in arguments]
        question = {"tool": f"org.apache.kafka.tools.{tool}", "arguments": whole, "input": ""}
        answer = json.loads(self._oracles(RUNNER).ask(json.dumps(question)))
        return Ran(answer["code"], answer["out"], answer["err"])


def same_lines(ours: str, theirs: str) -> None:
    """In whichever order: Kafka's sets have none."""
    assert sorted(ours.splitlines()) == sorted(theirs.splitlines())
