"""Kafka's own tool on one of the two clusters, its arguments as they are: BROKER stands for the address."""

from __future__ import annotations

from tests.cli.beside import Ran, Side
from tests.kafka.tool_runner import ToolRunner

__all__ = ["Kafkas", "same_lines"]


class Kafkas:
    """Tools by the classes behind org.apache.kafka.tools, all in one JVM."""

    def __init__(self, runner: ToolRunner) -> None:
        self._runner = runner

    def __call__(self, side: Side, tool: str, *arguments: str) -> Ran:
        whole = [side.bootstrap if argument == "BROKER" else argument for argument in arguments]
        return Ran(*self._runner.attempt(f"org.apache.kafka.tools.{tool}", *whole))


def same_lines(ours: str, theirs: str) -> None:
    """In whichever order: Kafka's sets have none."""
    assert sorted(ours.splitlines()) == sorted(theirs.splitlines())
