"""Kafka's command line tools, as their scripts call them, one after the other in one JVM."""

from __future__ import annotations

import json

from tests.kafka.classpath import HERE
from tests.kafka.java_oracle import JavaOracle

__all__ = ["ToolRunner"]


class ToolRunner:
    """For tools that end by themselves."""

    SOURCE = HERE / "ToolRunner.java"

    def __init__(self, java: JavaOracle) -> None:
        self._java = java

    def run(self, main: str, *arguments: str, stdin: str = "") -> str:
        """What it prints; AssertionError if it does not end well."""
        code, out, err = self.attempt(main, *arguments, stdin=stdin)
        assert code == 0, f"{main} ended with {code}:\n{out}{err[-3000:]}"
        return out

    def attempt(self, main: str, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        """Its exit code, and what it says on stdout and on stderr."""
        answer = json.loads(self._java.ask(json.dumps({"tool": main, "arguments": arguments, "input": stdin})))
        return answer["code"], answer["out"], answer["err"]
