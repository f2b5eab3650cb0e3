"""The values that perf produce sends: letters by chance, the lines of a file, or a number that grows."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

from barnabas.cli.failures import CommandFailed, WrongUsage

__all__ = ["Payloads", "counting", "of_a_file", "random_letters"]

Payloads = Callable[[int, int], list[bytes]]
"""Of the records from the first number to the second, exclusive."""

_POOL_BYTES = 1 << 20
_LARGEST_BYTES = 1 << 30
_LETTERS = bytes(65 + each % 26 for each in range(256))
_STEP = 65_537 * 7
"""A prime distance times another, so that pieces of the pool come in an order in which few are alike."""


def random_letters(size: int) -> Payloads:
    """Pieces of one pool: a letter at a time, as Kafka's tool does it, would be most of what Python has to do."""
    if size > _LARGEST_BYTES:
        raise WrongUsage(f"--record-size {size} is more than any broker takes: {_LARGEST_BYTES} is the most")
    pool = random.Random(0).randbytes(_POOL_BYTES + size).translate(_LETTERS)  # noqa: S311 - for nothing secret

    def make(first: int, last: int) -> list[bytes]:
        return [pool[(at := number * _STEP % _POOL_BYTES) : at + size] for number in range(first, last)]

    return make


def of_a_file(path: Path, delimiter: str) -> tuple[Payloads, int]:
    """One by chance each time, and how many there are. The delimiter is a regular expression, as Java's Scanner has."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read ({error.strerror}): check the path after --payload-file.") from None
    if not text:
        raise CommandFailed(f"{path} is empty: write a payload on each line, or use --record-size.")
    try:
        parts = re.split(delimiter, text)
    except re.error as error:
        raise WrongUsage(f"--payload-delimiter {delimiter} is no regular expression ({error})") from None
    if len(parts) > 1 and not parts[0]:
        parts = parts[1:]
    if len(parts) > 1 and not parts[-1]:
        parts = parts[:-1]
    values = [part.encode() for part in parts]
    choose = random.Random(0)  # noqa: S311 - for nothing secret
    return lambda first, last: choose.choices(values, k=last - first), len(values)


def counting(first: int, last: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, last)]
