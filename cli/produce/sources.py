"""Where records come from: lines on standard input or in files, JSON lines, or whole files as one record each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from barnabas.cli.output import Progress, progress
from barnabas.cli.produce.json_records import parse_record
from barnabas.cli.produce.lines import LineFormat, Parsed, java_lines

__all__ = ["records"]

Parse = Callable[[bytes, int], Parsed]


def records(
    files: Sequence[str], how: str, line_format: LineFormat, skipped: Callable[[Exception], None] | None
) -> Iterator[Parsed]:
    """`how` is lines, json or raw. `skipped` is told of a line that cannot be read; without it, that ends all."""
    parse: Parse = parse_record if how == "json" else line_format.parse
    for name in files or ["-"]:
        if name == "-":
            yield from _of_stream(_standard_input(), None, how, parse, skipped)
            continue
        path = Path(name)
        with path.open("rb") as file, progress(path.name, path.stat().st_size) as bar:
            yield from _of_stream(file, bar, how, parse, skipped)


def _of_stream(
    file: BinaryIO, bar: Progress | None, how: str, parse: Parse, skipped: Callable[[Exception], None] | None
) -> Iterator[Parsed]:
    if how == "raw":
        yield Parsed(None, file.read(), [])
        return
    for number, line in enumerate(java_lines(_blocks(file, bar)), 1):
        if how == "json" and not line.strip():
            continue
        try:
            found = parse(line, number)
        except Exception as error:
            if skipped is None:
                raise
            skipped(error)
            continue
        yield found


def _blocks(file: BinaryIO, bar: Progress | None) -> Iterator[bytes]:
    """Up to a line's end each: on a terminal, what was typed shall go out before more is typed."""
    prompt = bar is None and sys.stdin.isatty() and sys.stdout.isatty()
    while True:
        if prompt:
            sys.stdout.write(">")
            sys.stdout.flush()
        block = file.readline()
        if not block:
            return
        if bar is not None:
            bar.advance(len(block))
        yield block


def _standard_input() -> BinaryIO:
    return sys.stdin.buffer
