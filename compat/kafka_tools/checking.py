"""Checks that are given Kafka's tools."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack

from compat.checks import Stage, check
from compat.kafka_tools.tools import Tools
from tests.kafka.classpath import find_classpath
from tests.kafka.java_oracle import JavaOracle
from tests.kafka.tool_runner import ToolRunner

__all__ = ["Runners", "check_tools", "create"]


class Runners:
    """A JVM for each of those that check at the same time: tools share stdin and stdout with their JVM."""

    def __init__(self, until_the_end: ExitStack) -> None:
        self._own = threading.local()
        self._until_the_end = until_the_end

    def tools(self, stage: Stage) -> Tools:
        if not hasattr(self._own, "runner"):
            java = self._until_the_end.enter_context(JavaOracle(ToolRunner.SOURCE, find_classpath()))
            self._own.runner = ToolRunner(java)
        return Tools(self._own.runner, stage)


def check_tools(name: str, *, quick: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def register(function: Callable[..., None]) -> Callable[..., None]:
        check(name, quick=quick)(lambda runners, stage: function(runners.tools(stage), stage))
        return function

    return register


def create(tools: Tools, topic: str, *more: str) -> None:
    tools.run("TopicCommand", "--create", "--topic", topic, *more)
