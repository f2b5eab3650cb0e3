"""Terminal sessions as they stand in the documentation: read from a page, run again, compared.

A page holds blocks that open with ```console. In them a line `$ command` is what is typed (it goes on behind a
backslash at its end), and the lines behind it are what came: standard output and error together. Where something else
comes each time, the page says so: `...` in a line stands for anything there, a line `...` for any number of lines.
Times, ids, durations and the width of columns are not compared.

A comment `<!-- broker: key=value key=value -->` gives the page's broker settings; `<!-- broker: none -->` leaves it
out. The sessions run in an empty directory, with the broker's data in ./barnabas-data, as after `barnabas start`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Page", "Step", "differs", "parse", "rewritten"]

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SETTINGS = re.compile(r"<!-- broker:(.*?)-->", re.DOTALL)
ANYTHING = "..."

_VARYING = [
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z| UTC|[+-]\d\d:?\d\d)?"), "TIME"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "TIME"),
    (re.compile(r"(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{22}(?![\w-])"), "ID"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b1\d{12}\b"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? (µs|ms|s)\b"), "DURATION"),
    (re.compile(r"(?<=\S)  +"), "  "),
    (re.compile(r"-{4,}"), "----"),
]


class Step(NamedTuple):
    command: str
    expected: list[str]


class Page(NamedTuple):
    settings: dict[str, str] | None
    """None: no broker runs."""
    steps: list[Step]


def parse(text: str) -> Page:
    found = _SETTINGS.search(text)
    words = found[1].split() if found else []
    settings = None if words == ["none"] else dict(_pair(word) for word in words)
    return Page(settings, [step for block in _BLOCK.findall(text) for step in _steps(block)])


def _pair(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    return key, value


def _steps(block: str) -> list[Step]:
    lines = block.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("$ ")]
    assert starts[:1] == [0], f"a block of a session opens with `$ command`: {lines[:1]}"
    return [_step(lines[first:end]) for first, end in pairwise([*starts, len(lines)])]


def _step(lines: list[str]) -> Step:
    rest = list(lines)
    command = rest.pop(0)[2:]
    while command.endswith("\\"):
        command = command[:-1] + rest.pop(0).removeprefix("> ").lstrip()
    while rest and not rest[-1].strip():
        rest.pop()
    return Step(command, rest)


def differs(expected: list[str], actual: list[str]) -> str | None:
    """None if what came is what the page says; else both."""
    pattern = "".join(_line_pattern(line) for line in expected)
    text = "".join(f"{_plain(line)}\n" for line in actual)
    if re.fullmatch(pattern, text):
        return None
    return "\n".join(["the page says:", *expected, "and this came:", *actual])


def _line_pattern(line: str) -> str:
    if line.strip() == ANYTHING:
        return r"(?:.*\n)*"
    return ".*".join(map(re.escape, _plain(line).split(ANYTHING))) + "\n"


def _plain(line: str) -> str:
    for pattern, instead in _VARYING:
        line = pattern.sub(instead, line)
    return line.rstrip()


def rewritten(text: str, run: Callable[[str], list[str]]) -> str:
    """The page with what came instead of what it says, where the two differ."""

    def block(found: re.Match[str]) -> str:
        lines = []
        for step in _steps(found[1]):
            came = run(step.command)
            lines += [f"$ {step.command}", *(step.expected if differs(step.expected, came) is None else came), ""]
        return "```console\n" + "\n".join(lines[:-1]) + "\n```"

    return _BLOCK.sub(block, text)
