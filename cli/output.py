"""What a command says: tables for people, JSON for programs, progress and questions on a terminal only.

Results go to standard output. Progress, questions and notes go to standard error, so that a pipe gets results alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TextIO

from barnabas.cli.connecting import seconds
from barnabas.cli.failures import CommandFailed
from barnabas.cli.streams import speaks_utf8

__all__ = [
    "Output",
    "Progress",
    "add_output_arguments",
    "add_watch_argument",
    "columns_of_kafka",
    "confirm",
    "progress",
    "table_lines",
    "watch",
]

_GOOD, _WARN, _BAD, _DIM, _PLAIN = "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[2m", "\x1b[0m"
_CLEAR = "\x1b[H\x1b[2J"
_REDRAW_S = 0.1
_BAR_WIDTH = 30
_WATCH_S = 2.0


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the result as JSON, for programs")


def add_watch_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--watch",
        metavar="SECONDS",
        nargs="?",
        type=seconds,
        const=_WATCH_S,
        help=f"show it again and again, every so many seconds ({_WATCH_S:g})",
    )


def table_lines(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Columns of numbers stand at the right."""
    texts = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    numeric = [
        any(row[at] is not None for row in rows)
        and all(isinstance(row[at], int | float) or row[at] is None for row in rows)
        for at in range(len(headers))
    ]
    widths = [max(len(cell) for cell in column) for column in zip(headers, *texts, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        )
        return "  ".join(padded).rstrip()

    return [line([header.upper() for header in headers]), *map(line, texts)]


def columns_of_kafka(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """As those of Kafka's tools print a table that are cut up by scripts: padded, with a tab behind each column."""
    texts = [list(headers), *(list(map(str, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return ["".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)) for row in texts]


class Output:
    def __init__(self, *, as_json: bool = False, stream: TextIO | None = None) -> None:
        self.as_json = as_json
        self._stream = stream or sys.stdout
        self._colours = self._stream.isatty() and "NO_COLOR" not in os.environ

    def line(self, text: str = "") -> None:
        """A result, where people read; with --json there are no lines but JSON."""
        if not self.as_json:
            print(text, file=self._stream)

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        for text in table_lines(headers, rows):
            self.line(text)

    def json(self, value: Any) -> None:
        """The whole result, once; indented where a person looks at it."""
        indent = 2 if self._stream.isatty() else None
        ascii_alone = not speaks_utf8(self._stream)
        print(json.dumps(value, indent=indent, ensure_ascii=ascii_alone), file=self._stream, flush=True)

    def note(self, text: str) -> None:
        """For the person alone: it is no part of the result."""
        print(text, file=sys.stderr)  # noqa: T201

    def remark(self, text: str) -> None:
        """As a note, and only if a person looks on: a script that went well is silent."""
        if sys.stderr.isatty():
            self.note(text)

    def good(self, text: str) -> str:
        return self._coloured(_GOOD, text)

    def warn(self, text: str) -> str:
        return self._coloured(_WARN, text)

    def bad(self, text: str) -> str:
        return self._coloured(_BAD, text)

    def dim(self, text: str) -> str:
        return self._coloured(_DIM, text)

    def _coloured(self, colour: str, text: str) -> str:
        return f"{colour}{text}{_PLAIN}" if self._colours else text


def watch(arguments: argparse.Namespace, output: Output, show: Callable[[], None]) -> None:
    """Once; with --watch until Ctrl-C, on a terminal in the same place."""
    while True:
        if arguments.watch is not None and not output.as_json:
            if sys.stdout.isatty():
                sys.stdout.write(_CLEAR)
            output.line(output.dim(f"{datetime.now():%H:%M:%S}, every {arguments.watch:g} s; Ctrl-C ends it"))
        show()
        if arguments.watch is None:
            return
        sys.stdout.flush()
        time.sleep(arguments.watch)


def confirm(question: str, *, yes: bool) -> None:
    """On a terminal, before what cannot be undone. A script goes on, as with Kafka's own tools: nobody could answer."""
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = ""
    try:
        answer = sys.stdin.readline()
    finally:
        if not answer:  # Ctrl-C or Ctrl-D: what comes next shall not stand behind the question.
            sys.stderr.write("\n")
    if answer.strip().lower() not in ("y", "yes"):
        raise CommandFailed("Nothing was done: it was not confirmed.")


class Progress:
    """A bar on a terminal; nothing anywhere else."""

    def __init__(self, what: str, total: int | None, stream: TextIO | None = None) -> None:
        self._what = what
        self._total = total
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()
        self._done = 0
        self._next_s = 0.0
        self._began_s = time.monotonic()

    def advance(self, by: int = 1) -> None:
        self._done += by
        if self._shown and time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + _REDRAW_S
            self._draw()

    def finish(self) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _draw(self) -> None:
        rate = self._done / max(time.monotonic() - self._began_s, 1e-9)
        if self._total:
            part = min(1.0, self._done / self._total)
            filled = round(part * _BAR_WIDTH)
            text = f"{self._what} [{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] {part:4.0%}, {rate:,.0f}/s"
        else:
            text = f"{self._what} {self._done:,}, {rate:,.0f}/s"
        self._stream.write(f"\r{text}\x1b[K")
        self._stream.flush()


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Progress]:
    bar = Progress(what, total)
    try:
        yield bar
    finally:
        bar.finish()
